package schema_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
	"waymark/pipeline/schema"
)

// TestJSONSchema validates rows with the schema of others. (0.01 CPU-s.)
func TestJSONSchema(t *testing.T) {
	layout := schema.Layout{Fields: []schema.Known{
		{Name: "id", Kinds: schema.Declared(row.Int, false)}, {Name: "day", Kinds: schema.Declared(row.Date, true)},
		{Name: "data", Kinds: schema.Declared(row.JSON, true)}, {Name: "price", Kinds: schema.Declared(row.Decimal, false)},
	}}
	const first = `{"id":1,"day":null,"data":[1],"price":2,"more":"a"}`
	whole := whole(t, layout, []string{first, `{"id":2,"day":null,"data":null,"price":1}`})
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	text, err := json.Marshal(whole.JSONSchema("rows"))
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, compiler.AddResource("rows.json", value))
	made, err := compiler.Compile("rows.json")
	require.NoError(t, err)
	for text, valid := range map[string]bool{
		first: true,
		`{"id":1,"day":"2026-01-31","data":{},"price":1.50}`:                   true,
		`{"id":1,"day":"2026-01-32","data":{},"price":1.50}`:                   false,
		`{"id":1.5,"day":null,"data":1,"price":1}`:                             false,
		`{"day":null,"data":1,"price":1}`:                                      false,
		`{"id":1,"day":null,"data":1,"price":1,"more":1}`:                      false,
		`{"id":1,"day":null,"data":1,"price":1,"less":1}`:                      false,
		`{"id":1,"day":null,"data":1,"price":null}`:                            false,
		`{"id":1,"day":null,"data":{"x":[null]},"price":-1e400,"more":"more"}`: true,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, valid, made.Validate(value) == nil, text)
		require.Equal(t, valid, whole.FitsJSON(value.(map[string]any)) == nil, text)
	}
}
