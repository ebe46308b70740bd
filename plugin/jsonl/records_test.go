package jsonl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

func TestRecordsAreParsedAsLinesAre(t *testing.T) {
	records, err := NewRecords(pipeline.Schema{Fields: pipeline.Map[pipeline.Field]{
		{Name: "id", Value: pipeline.Field{Type: "int", From: "nr"}},
		{Name: "total", Value: pipeline.Field{Type: "decimal", Optional: true}},
	}})
	require.NoError(t, err)
	declared, open := records.Fields()
	require.False(t, open)
	require.Equal(t, "id", declared[0].Name)
	parsed, err := records.Parser().Parse(`{"nr":7,"total":1.50}`, nil)
	require.NoError(t, err)
	require.Equal(t, `{"id":7,"total":1.50}`, string(row.AppendJSON(nil, parsed)))
	_, err = records.Parser().Parse(`{"id":7}`, nil)
	require.ErrorContains(t, err, "UNKNOWN_FIELD")

	_, err = NewRecords(pipeline.Schema{Fields: pipeline.Map[pipeline.Field]{{Name: "id", Value: pipeline.Field{Type: "number"}}}})
	require.ErrorContains(t, err, "schema.fields.id")
}
