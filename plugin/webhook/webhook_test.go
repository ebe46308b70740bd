package webhook

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
)

// payloads are what is stored, by digest.
type payloads map[string][]byte

func (p payloads) read(_ context.Context, digest string) ([]byte, error) {
	packed, is := p[digest]
	if !is {
		return nil, fmt.Errorf("no payload %s", digest)
	}
	return packed, nil
}

// delivered returns a source that reads the bodies, and what a run would pin.
func delivered(t *testing.T, records string, bodies ...string) (plugin.Source, plugin.SourceInfo, payloads) {
	t.Helper()
	stored := payloads{}
	pin := plugin.SourceInfo{Trigger: "default/orders/calls"}
	for i, body := range bodies {
		receipt, digest := fmt.Sprintf("rc_%d", i), fmt.Sprintf("%064d", i)
		stored[digest] = Pack(receipt, []byte(body))
		pin.Files = append(pin.Files, Delivery(receipt, digest, []byte(body)))
	}
	s, err := NewSource("calls", pipeline.WebhookSource{Records: records}, pipeline.Schema{}, stored.read)
	require.NoError(t, err)
	return s, pin, stored
}

// read reads everything, with a new reader for each chunk if again says so. It returns records, each with its line, and the text of all chunks by file.
func read(t *testing.T, s plugin.Source, pin plugin.SourceInfo, limits plugin.Limits, again bool) (records []string, texts map[string]string) {
	t.Helper()
	texts = map[string]string{}
	reader, err := s.Open(t.Context(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	row := int64(1)
	for {
		var c plugin.Chunk
		err := reader.Next(t.Context(), limits, &c)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.Equal(t, row, c.FirstRow)
		require.Equal(t, int64(len(texts[c.File])), c.FirstOffset, "chunks follow each other without a gap")
		require.Equal(t, int64(strings.Count(texts[c.File], "\n"))+1, c.FirstLine)
		texts[c.File] += string(c.Data)
		bad := map[int]string{}
		for _, b := range c.Bad {
			bad[b.Index] = " " + b.Code
		}
		for i := range c.Len() {
			records = append(records, fmt.Sprintf("%d:%s%s", c.Line(i), c.Record(i), bad[i]))
		}
		row += int64(c.Len())
		if again {
			at := reader.Cursor()
			reader, err = s.Open(t.Context(), at, pin)
			require.NoError(t, err)
		}
	}
	digests, err := reader.Digests(t.Context())
	require.NoError(t, err)
	require.Len(t, digests, len(pin.Files))
	return records, texts
}

// TestRecordsOfDeliveries reads bodies in all forms, in one go and a record at a time: each gives the same records, at the same places.
func TestRecordsOfDeliveries(t *testing.T) {
	for name, c := range map[string]struct {
		records, body string
		want          []string
	}{
		"an object":                {"", "{\"a\": 1}\n", []string{`1:{"a": 1}`}},
		"an object on many lines":  {"", "\n{\n \"a\": 1\n}", []string{"2:{\n \"a\": 1\n}"}},
		"an array":                 {"", "[{\"a\":1}, {\"a\":2},\n\n {\"a\":3}\n]\n", []string{`1:{"a":1}`, `1:{"a":2}`, `3:{"a":3}`}},
		"an array of other things": {"", `[1, "x", [2], null]`, []string{"1:1", `1:"x"`, "1:[2]", "1:null"}},
		"lines":                    {"", "{\"a\":1}\r\n\n  {\"a\":2}\n{\"a\":3}", []string{`1:{"a":1}`, `3:{"a":2}`, `4:{"a":3}`}},
		"a line that is none":      {"", "{\"a\":1}\nx\n", []string{`1:{"a":1}`, "2:x"}},
		"a byte order mark":        {"data", "\xef\xbb\xbf\n{\"data\": [{\"a\":1}]}", []string{`2:{"a":1}`}},
		"nothing":                  {"", " \n", nil},
		"an empty array":           {"", "[ ]", nil},
		"a word":                   {"", "true", []string{"1:true"}},
		"garbage":                  {"", "PK\x03\x04\xff", []string{"1:PK\x03\x04\xff"}},
		"below keys":               {"data.items", "{\"items\": [0], \"data\": {\"n\": [9], \"items\":\n [{\"a\":1},{\"a\":2}]}, \"z\": {}}", []string{`2:{"a":1}`, `2:{"a":2}`}},
		"one below a key":          {"data", `{"data": {"a":1}, "type": "x"}`, []string{`1:{"a":1}`}},
		"the first of two":         {"data", `{"data": {"a":1}, "data": {"a":2}}`, []string{`1:{"a":1}`}},
		"not below keys":           {"data.items", `{"data": [1]}`, []string{`1:{"data": [1]} NO_RECORDS`}},
		"no key":                   {"data", `{"a":1}`, []string{`1:{"a":1} NO_RECORDS`}},
		"a number below a key":     {"data", `{"data":1}`, []string{`1:{"data":1} NO_RECORDS`}},
		"lines, and keys":          {"data", "{\"data\":{}}\n{}\n", []string{"1:{\"data\":{}}\n{}"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, pin, _ := delivered(t, c.records, c.body, "", c.body)
			want := append(append([]string(nil), c.want...), c.want...)
			for _, limits := range []plugin.Limits{{Rows: 1, Bytes: 1 << 20}, {Rows: 100, Bytes: 1}, {Rows: 2, Bytes: 1 << 20}, {Rows: 100, Bytes: 1 << 20}} {
				for _, again := range []bool{false, true} {
					records, texts := read(t, s, pin, limits, again)
					require.Equal(t, want, records)
					for _, text := range texts {
						require.Equal(t, c.body, text)
					}
				}
			}
		})
	}
}

// TestWhatIsStoredIsWhatWasDelivered: a payload that is another one is a fault, and not rows.
func TestWhatIsStoredIsWhatWasDelivered(t *testing.T) {
	for name, packed := range map[string][]byte{
		"another body":    Pack("rc_0", []byte(`{"a":2}`)),
		"another receipt": Pack("rc_1", []byte(`{"a":1}`)),
		"no delivery":     []byte(`{"a":1}`),
	} {
		s, pin, stored := delivered(t, "", `{"a":1}`)
		stored[fmt.Sprintf("%064d", 0)] = packed
		reader, err := s.Open(t.Context(), plugin.Cursor{}, pin)
		require.NoError(t, err)
		var fault *plugin.SourceError
		require.ErrorAs(t, reader.Next(t.Context(), plugin.Limits{Rows: 1, Bytes: 1}, new(plugin.Chunk)), &fault, name)
		require.Equal(t, "SOURCE_CHANGED", fault.Code)
	}
	require.NotEqual(t, Pack("rc_0", nil), Pack("rc_1", nil), "two deliveries are two payloads")
}

// TestOnlyATriggerBringsDeliveries: a run that a person begins has none to read, and says what to do.
func TestOnlyATriggerBringsDeliveries(t *testing.T) {
	s, _, _ := delivered(t, "")
	_, err := s.Stat(t.Context())
	require.ErrorContains(t, err, "post to /in/ENVIRONMENT/PIPELINE/TRIGGER of waymark serve")
}

// FuzzSplit finds records in any body: in order, within it, without overlap.
func FuzzSplit(f *testing.F) {
	for _, body := range []string{`{"data":{"a":[1,2]}}`, "[{},\n[]]", "{}\n{}\n", "x", `{"data":"\ud800"}`} {
		f.Add(body, "data.a")
		f.Add(body, "")
	}
	f.Fuzz(func(t *testing.T, body, path string) {
		var keys []string
		if path != "" {
			keys = strings.Split(path, ".")
		}
		at := 0
		for _, s := range split([]byte(body), keys) {
			require.True(t, at <= s.from && s.from < s.to && s.to <= len(body))
			at = s.to
		}
	})
}

// TestAtMostSoManyRows counts the rows of a body as a run reads them, and without knowing where they are never too few.
func TestAtMostSoManyRows(t *testing.T) {
	for body, want := range map[string]int{
		``: 0, `{}`: 1, `[{},{},{}]`: 3, "{}\n{}\n\n{}": 3, `[{"a":[1,2,3]}]`: 1, `no JSON`: 1, "{}\r{}": 1,
	} {
		require.Equal(t, want, Records([]byte(body), ""), body)
		require.LessOrEqual(t, want, AtMost([]byte(body)), body)
	}
	require.Equal(t, 2, Records([]byte(`{"data": {"items": [{}, {}]}, "other": [1, 2, 3]}`), "data.items"))
}
