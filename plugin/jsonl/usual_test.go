package jsonl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// TestALineMeansTheSameBehindUsualOnes parses lines by a parser that has seen many in one order, and by a new one.
func TestALineMeansTheSameBehindUsualOnes(t *testing.T) {
	fields := pipeline.Map[pipeline.Field]{
		{Name: "a", Value: pipeline.Field{Type: "int"}},
		{Name: "b", Value: pipeline.Field{Type: "string", From: "the b", Optional: true}},
		{Name: "c", Value: pipeline.Field{Type: "json", Optional: true}},
	}
	for _, mode := range []string{pipeline.ModeFixed, pipeline.ModeFlexible} {
		records, err := NewRecords(pipeline.Schema{Mode: mode, Fields: fields})
		require.NoError(t, err)
		for _, usual := range []string{`{"a":1,"the b":"x","c":[1]}`, `{"a":1}`, `{"the b":"x","a":1}`} {
			used := newParser(records)
			for _, line := range []string{
				`{"a":2,"the b":null,"c":{"d":1}}`, `{"a":2,"the b":"y"}`, `{"the b":"y","a":7}`, `{"a":2}`, `{"a":2,"a":3}`, `{"a":"2"}`, `{"a":null}`,
				`{"a":2,"the b":"y","c":1,"d":4}`, `{"a":2,"b":"y"}`, `{"the b":"y"}`, `{"a":2,"the b":"y","c":}`, `{"a":2,"the b":"y","c":{"d":1,"d":2}}`, `{}`, `x`,
				` {"a" : 5} `, usual,
			} {
				for range 3 {
					_, err := used.Parse(usual, nil)
					require.NoError(t, err)
				}
				want, refused := newParser(records).Parse(line, nil)
				got, err := used.Parse(line, nil)
				require.Equal(t, refused, err, line)
				require.Equal(t, want.Values, got.Values, line)
				if refused == nil {
					require.Equal(t, want.Shape.Fields(), got.Shape.Fields(), line)
				}
			}
		}
	}
}
