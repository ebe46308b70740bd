package row

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func seedJSON(f *testing.F) {
	for _, test := range badJSON {
		f.Add(test.text)
	}
	for _, test := range accepted {
		f.Add(test.text)
	}
	for _, texts := range rejected {
		for _, text := range texts {
			f.Add(text)
		}
	}
}

// FuzzParseJSON compares with encoding/json: we accept only what it accepts, and refuse what it accepts only by a rule that
// is ours. What is accepted means the same to it, and its normal form is stable.
func FuzzParseJSON(f *testing.F) {
	seedJSON(f)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseJSON(text)
		if err != nil {
			if code := codeOf(t, err); code == CodeSyntax {
				require.False(t, json.Valid([]byte(text)), "%q: %v", text, err)
			}
			return
		}
		require.True(t, json.Valid([]byte(text)), "%q", text)
		require.Equal(t, decoded(t, text), decoded(t, v.Text()))
		again, err := ParseJSON(v.Text())
		require.NoError(t, err)
		require.Equal(t, v, again)
		require.True(t, json.Valid(AppendValue(nil, v)))
	})
}

// decoded returns what encoding/json reads, all numbers as the nearest float64 or an infinity.
func decoded(t *testing.T, text string) any {
	var v any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&v))
	return withFloats(v)
}

func withFloats(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := strconv.ParseFloat(v.String(), 64) // an infinity beside its error
		return f
	case []any:
		for i := range v {
			v[i] = withFloats(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = withFloats(v[key])
		}
	}
	return v
}

// FuzzScanObject compares the two readers: ScanObject and RawValue.Natural accept what ParseJSON accepts, and agree on
// it and on the digits of its numbers.
func FuzzScanObject(f *testing.F) {
	seedJSON(f)
	f.Fuzz(func(t *testing.T, text string) {
		v, parseErr := ParseJSON(text)
		r, err := object(text)
		if err != nil {
			if code := codeOf(t, err); code != CodeNotObject {
				require.Error(t, parseErr, "%q: %v", text, err)
			}
			return
		}
		require.NoError(t, parseErr)
		again, err := ParseJSON(string(AppendJSON(nil, r)))
		require.NoError(t, err)
		require.Equal(t, v, again)
	})
}

// FuzzParse checks for every kind that Parse refuses or reads a value whose text it reads back as the same value, that the
// canonical form of the value is JSON, and that errors print on one line.
func FuzzParse(f *testing.F) {
	for kind, text := range parseTexts {
		f.Add(uint8(kind), text)
	}
	for _, text := range []string{"", "-0", "007", "1e400", "24:00:00", "2001-02-29", "0000-01-01T00:00:00Z", "\xff", "\x1b[2J", strings.Repeat("9", 1001)} {
		for kind := Null; kind <= JSON; kind++ {
			f.Add(uint8(kind), text)
		}
	}
	f.Fuzz(func(t *testing.T, k uint8, text string) {
		kind := Kind(k) % (JSON + 1)
		v, err := Parse(kind, text)
		if err != nil {
			require.NotEmpty(t, codeOf(t, err))
			require.False(t, strings.ContainsAny(err.Error(), "\x00\x1b\r\n\u202e"))
			return
		}
		require.Equal(t, kind, v.Kind())
		again, err := Parse(kind, string(AppendText(nil, v)))
		require.NoError(t, err)
		require.Equal(t, v, again)
		require.True(t, json.Valid(AppendValue(nil, v)))
	})
}
