package jsonl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
)

// TestPieces says which bytes of a line are which field, also of one that is rejected.
func TestPieces(t *testing.T) {
	records, err := NewRecords(pipeline.Schema{Mode: "flexible", Fields: pipeline.Map[pipeline.Field]{{Name: "id", Value: pipeline.Field{Type: "int", From: "nr"}}}})
	require.NoError(t, err)
	for record, want := range map[string]string{
		`{"nr":7,"a":"x \" é"}`:                    `id=7|a="x \" é"`,
		` { "a" : [1, {"nr": 2}] , "nr" : null } `: `a=[1, {"nr": 2}]|id=null`,
		`{"\u006er":"x","":-1.5e3}`:                `id="x"|=-1.5e3`,
		`{}`:                                       "",
		`{"nr":7,"a":`:                             "id=7",
		`{"a":1,"a":2}`:                            "a=1|a=2",
		`[1]`:                                      "",
		"{\"a\":\"\xff\"}":                         "",
	} {
		var pieces []string
		end := 0
		for _, piece := range records.Parser().(plugin.Divided).Pieces(record) {
			require.GreaterOrEqual(t, piece.Offset, end, record)
			end = piece.Offset + piece.Length
			pieces = append(pieces, piece.Field+"="+record[piece.Offset:end])
		}
		require.Equal(t, want, strings.Join(pieces, "|"), record)
	}
}
