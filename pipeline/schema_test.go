package pipeline_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := pipeline.JSONSchema()
	require.NoError(t, err)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("pipeline.json", parsed))
	schema, err := compiler.Compile("pipeline.json")
	require.NoError(t, err)
	return schema
}

// editorView returns the document as an editor's YAML library sees it.
func editorView(t *testing.T, text string) any {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &value))
	data, err := json.Marshal(value)
	require.NoError(t, err)
	view, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	return view
}

func TestSchemaAcceptsWhatLoadAccepts(t *testing.T) {
	schema := compileSchema(t)
	require.NoError(t, schema.Validate(editorView(t, string(readFull(t)))))
	for name, text := range accepted {
		t.Run(name, func(t *testing.T) { require.NoError(t, schema.Validate(editorView(t, text))) })
	}
}

func TestSchemaRefuses(t *testing.T) {
	schema := compileSchema(t)
	for name, text := range map[string]string{
		"an unknown key":             small + "transfroms: []\n",
		"an unknown key deep inside": small + "steps: [{name: a, fliter: x}]\n",
		"a missing key":              "name: x\nsources: {in: {csv: {path: in.csv}}}\n",
		"no format":                  "name: x\nsources: {in: {key: [a]}}\nsinks: {out: {csv: {path: out.csv}}}\n",
		"two formats":                "name: x\nsources: {in: {csv: {path: a}, jsonl: {path: b}}}\nsinks: {out: {csv: {path: out.csv}}}\n",
		"two operations":             small + "steps: [{name: a, filter: x, drop: [b]}]\n",
		"no operation":               small + "steps: [{name: a}]\n",
		"an unknown word":            "name: x\nsources: {in: {csv: {path: a, header: no}}}\nsinks: {out: {csv: {path: out.csv}}}\n",
		"a number out of range":      small + "chunk: {rows: 0}\n",
		"an unknown type":            "name: x\nsources: {in: {csv: {path: a}, schema: {fields: {a: integer}}}}\nsinks: {out: {csv: {path: out.csv}}}\n",
		"a text for a bool":          "name: x\nsources: {in: {csv: {path: a, trim_space: \"yes\"}}}\nsinks: {out: {csv: {path: out.csv}}}\n",
		"an empty list":              small + "steps: []\n",
	} {
		t.Run(name, func(t *testing.T) { require.Error(t, schema.Validate(editorView(t, text))) })
	}
}

// Every key of the structs is in the schema with a description, so that a new field cannot be forgotten.
func TestSchemaHasEveryKey(t *testing.T) {
	data, err := pipeline.JSONSchema()
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(data, &schema))
	described := map[string]bool{}
	collectDescribed(schema, described)
	seen := map[reflect.Type]bool{}
	for _, key := range keysOf(reflect.TypeFor[pipeline.Pipeline](), seen) {
		require.True(t, described[key], "%s has no description in the schema", key)
	}
	require.Len(t, seen, 49, "structs of the document")
}

// The fixture that the other tests look at has every key at least once.
func TestFixtureHasEveryKey(t *testing.T) {
	text := string(readFull(t))
	for _, key := range keysOf(reflect.TypeFor[pipeline.Pipeline](), map[reflect.Type]bool{}) {
		require.True(t, regexp.MustCompile(`(?m)(^|[ {])`+key+`:`).MatchString(text), "testdata/full.yaml has no %s", key)
	}
}

// keysOf returns the yaml keys of the struct and of everything below it.
func keysOf(t reflect.Type, seen map[reflect.Type]bool) (keys []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	if strings.HasPrefix(t.Name(), "Named[") {
		value, _ := t.FieldByName("Value")
		return keysOf(value.Type, seen)
	}
	if seen[t] {
		return nil
	}
	seen[t] = true
	for i := range t.NumField() {
		if key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); key != "" {
			keys = append(keys, key)
		}
		keys = append(keys, keysOf(t.Field(i).Type, seen)...)
	}
	return keys
}

// collectDescribed notes the keys of all properties objects that have a description.
func collectDescribed(schema any, described map[string]bool) {
	switch schema := schema.(type) {
	case []any:
		for _, element := range schema {
			collectDescribed(element, described)
		}
	case map[string]any:
		if properties, ok := schema["properties"].(map[string]any); ok {
			for key, property := range properties {
				if text, _ := property.(map[string]any)["description"].(string); text != "" {
					described[key] = true
				}
			}
		}
		for _, value := range schema {
			collectDescribed(value, described)
		}
	}
}

func TestSchemaIsTheSameAtEveryCall(t *testing.T) {
	first, err := pipeline.JSONSchema()
	require.NoError(t, err)
	second, err := pipeline.JSONSchema()
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	require.Contains(t, string(first), `"$schema": "https://json-schema.org/draft/2020-12/schema"`)
}
