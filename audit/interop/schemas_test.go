package interop

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline/schema"
)

// TestSchemasSayWhatFilesHave: the columns of Parquet and the header of CSV files are as their sinks write them.
func TestSchemasSayWhatFilesHave(t *testing.T) {
	decimal := func(name string) schema.Field {
		return schema.Field{Name: name, Types: []string{"decimal"}, Nullable: true}
	}
	fields := []schema.Field{decimal("text"), decimal("fixed"), {Name: "json", Types: []string{"int"}, Nullable: true, Seen: true}}
	described, err := ofParquet(landscape.Node{Config: `{"parquet":{"decimals":[{"Name":"fixed","Value":2}]}}`}, &dataset{schema: &schema.Schema{Fields: fields}})
	require.NoError(t, err)
	text, err := json.Marshal(described)
	require.NoError(t, err)
	require.JSONEq(t, `{"fields":[{"name":"text","type":"string"},{"name":"fixed","type":"number"},{"name":"json","type":"any"}]}`, string(text))
	described, err = csvw(t.Context(), nil, landscape.Node{Config: `{"csv":{"formulas":"escape"}}`},
		&dataset{path: "/a", schema: &schema.Schema{Fields: []schema.Field{decimal("=sum"), decimal("sum")}}})
	require.NoError(t, err)
	text, err = json.Marshal(described["tableSchema"])
	require.NoError(t, err)
	require.JSONEq(t, `{"columns":[{"titles":"'=sum","datatype":"decimal"},{"titles":"sum","datatype":"decimal"}]}`, string(text))
}
