package jsonl

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
	"waymark/plugin/file/filetest"
)

// FuzzJSONL parses any line: what it accepts encoding/json accepts too, and writing it gives the same row again.
func FuzzJSONL(f *testing.F) {
	for _, seed := range []string{`{"a":1,"x":[1,{"y":null}]}`, `{}`, `{"a":"\ud83d\ude00"}`, `[]`, `{"a":1e400}`} {
		f.Add(seed)
	}
	p := parserOf(f, filetest.Fields("flexible", "a", "json?"))
	f.Fuzz(func(t *testing.T, line string) {
		parsed, err := p.Parse(line, nil)
		if err != nil {
			return
		}
		require.True(t, json.Valid([]byte(line)))
		parsed = parsed.Clone()
		text := row.AppendJSON(nil, parsed)
		again, err := p.Parse(string(text), nil)
		require.NoError(t, err)
		require.Equal(t, string(text), string(row.AppendJSON(nil, again)))
	})
}
