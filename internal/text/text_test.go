package text

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain, größer, 鳥":  "plain, größer, 鳥",
		"two\nlines":        "two\nlines",
		"\x1b[2Jgone":       `\u001b[2Jgone`,
		"bell\a tab\t":      `bell\u0007 tab\u0009`,
		"c1 \u009b31m":      `c1 \u009b31m`,
		"txt.\u202eexe":     `txt.\u202eexe`,
		"mark\u200f\u2066x": `mark\u200f\u2066x`,
		"not utf8 \xff\x9b": `not utf8 \xff\x9b`,
		"replaced \ufffd":   "replaced \ufffd",
	} {
		require.Equal(t, want, Visible(text))
	}
}

func TestVisibleObeysNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, r := range Visible(rapid.String().Draw(t, "text")) {
			require.False(t, r != '\n' && unicode.IsControl(r), "%q", r)
		}
	})
}

func TestVisibleJSONMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		encoded, err := json.Marshal(text)
		require.NoError(t, err)
		var decoded string
		require.NoError(t, json.Unmarshal([]byte(Visible(string(encoded))), &decoded))
		require.Equal(t, text, decoded)
	})
}

func TestTableKeepsCellsInTheirPlace(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Table(&out, []string{"name", "value"}, []string{"a\tb\nc", "\x1b[0m"}, []string{"x", ""}))
	require.Equal(t, "name             value\n"+`a\u0009b\u000ac  \u001b[0m`+"\nx\n", out.String())
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 12: "12", 1234567: "1,234,567", 1000000: "1,000,000", -1234567: "-1,234,567", -1000: "-1,000", -999: "-999"} {
		require.Equal(t, want, Grouped(n))
	}
	require.Equal(t, "1 row", Count(1, "row"))
	require.Equal(t, "1,500 rows", Count(1500, "row"))
	for word, many := range map[string]string{
		"entry": "entries", "delivery": "deliveries", "key": "keys", "day": "days", "hash": "hashes",
		"branch": "branches", "alias": "aliases", "search attribute": "search attributes",
	} {
		require.Equal(t, "1 "+word, Count(1, word))
		require.Equal(t, "0 "+many, Count(0, word))
	}
	for n, verb := range []string{"are", "is", "are"} {
		require.Equal(t, verb, Agree(int64(n), "is", "are"))
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 9_999: "9,999 bytes", 13_400: "13 kB", 13_400_000: "13 MB"} {
		require.Equal(t, want, Size(bytes))
	}
}
