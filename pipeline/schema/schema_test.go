package schema_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
	"waymark/pipeline/schema"
)

func parse(t *testing.T, text string) row.Row {
	var names []string
	var values []row.Value
	require.NoError(t, row.ScanObject(text, func(name string, raw row.RawValue) error {
		value, err := raw.Natural()
		names, values = append(names, name), append(values, value)
		return err
	}))
	return row.Row{Shape: row.NewShape(names), Values: values}
}

// whole returns the schema of an output whose parts have these rows.
func whole(t *testing.T, layout schema.Layout, parts ...[]string) schema.Schema {
	beyond := make([]string, len(parts))
	for i, part := range parts {
		var seen schema.Seen
		for _, text := range part {
			seen.Note(parse(t, text))
		}
		beyond[i] = seen.Beyond(layout)
	}
	found, err := layout.With(beyond)
	require.NoError(t, err)
	return found
}

// TestSeen says what is known of rows, and what was seen in them. (0.02 CPU-s.)
func TestSeen(t *testing.T) {
	id := schema.Known{Name: "id", Kinds: schema.Declared(row.Int, false)}
	note := schema.Known{Name: "note", Kinds: schema.Declared(row.String, true)}
	anything := schema.Known{Name: "data", Kinds: schema.Declared(row.JSON, true)}
	unknown := schema.Known{Name: "x"}
	for name, c := range map[string]struct {
		fields  []schema.Known
		columns bool
		parts   [][]string
		want    string
	}{
		"as declared":              {[]schema.Known{id, note}, false, [][]string{{`{"id":1,"note":"a"}`}}, `{"fields":[{"name":"id","types":["int"]},{"name":"note","types":["string"],"nullable":true}]}`},
		"no rows":                  {[]schema.Known{id}, false, nil, `{"fields":[{"name":"id","types":["int"]}]}`},
		"JSON may be anything":     {[]schema.Known{anything}, false, [][]string{{`{"data":1}`, `{"data":[]}`, `{"data":null}`}}, `{"fields":[{"name":"data","types":["json"],"nullable":true}]}`},
		"more than is declared":    {[]schema.Known{id}, false, [][]string{{`{"id":null}`}, {`{"id":"a"}`}}, `{"fields":[{"name":"id","types":["int","string"],"nullable":true,"seen":true}]}`},
		"others, by name":          {[]schema.Known{id}, false, [][]string{{`{"id":1,"z":1,"a":[1]}`}}, `{"fields":[{"name":"id","types":["int"]},{"name":"a","types":["json"],"seen":true},{"name":"z","types":["int"],"seen":true}]}`},
		"missing in a row":         {nil, false, [][]string{{`{"z":1}`, `{}`}}, `{"fields":[{"name":"z","types":["int"],"missing":true,"seen":true}]}`},
		"missing in a part":        {nil, false, [][]string{{`{"z":1}`}, {`{"y":null}`, `{"y":2.5}`}}, `{"fields":[{"name":"y","types":["decimal"],"nullable":true,"missing":true,"seen":true},{"name":"z","types":["int"],"missing":true,"seen":true}]}`},
		"shapes that are alike":    {nil, false, [][]string{{`{"z":1}`, `{"z":2}`}}, `{"fields":[{"name":"z","types":["int"],"seen":true}]}`},
		"a column of unknown kind": {[]schema.Known{unknown}, true, [][]string{{`{"x":true,"left":1}`}}, `{"fields":[{"name":"x","types":["bool"],"seen":true}]}`},
		"a column that is missing": {[]schema.Known{unknown, id}, true, [][]string{{`{"x":1,"id":1}`, `{"id":1}`}}, `{"fields":[{"name":"x","types":["int"],"nullable":true,"seen":true},{"name":"id","types":["int"]}]}`},
		"a column without rows":    {[]schema.Known{unknown}, true, nil, `{"fields":[{"name":"x","types":[],"seen":true}]}`},
	} {
		found := whole(t, schema.Layout{Fields: c.fields, Columns: c.columns}, c.parts...)
		require.Equal(t, c.want, found.String(), name)
		again, err := schema.Parse(found.String())
		require.NoError(t, err)
		require.Equal(t, found.String(), again.String(), name)
	}
}

// TestTooManyFields shows that keys that are data are not recorded, wherever in the output there are too many. (0.02 CPU-s.)
func TestTooManyFields(t *testing.T) {
	const most = 1000
	var rows []string
	for i := range most + 1 {
		rows = append(rows, fmt.Sprintf(`{"key%d":1}`, i))
	}
	require.Len(t, whole(t, schema.Layout{}, rows[1:]).Fields, most)
	for _, parts := range [][][]string{{rows}, {rows[:1], rows[1:]}, {rows, rows[:1]}} {
		require.Equal(t, `{"fields":[],"others":true}`, whole(t, schema.Layout{}, parts...).String())
	}
}

func BenchmarkNote(b *testing.B) {
	names, values := make([]string, 10), make([]row.Value, 10)
	for i := range names {
		names[i], values[i] = fmt.Sprint("field", i), row.IntValue(int64(i))
	}
	r := row.Row{Shape: row.NewShape(names), Values: values}
	var seen schema.Seen
	for b.Loop() {
		seen.Note(r)
	}
}

// BenchmarkKeysThatAreData notes rows of which each has fields of its own.
func BenchmarkKeysThatAreData(b *testing.B) {
	rows := make([]row.Row, 10_000)
	for i := range rows {
		names := make([]string, 20)
		for k := range names {
			names[k] = fmt.Sprintf("key-%d-%d", i, k)
		}
		rows[i] = row.Row{Shape: row.NewShape(names), Values: make([]row.Value, len(names))}
	}
	for b.Loop() {
		var seen schema.Seen
		for _, r := range rows {
			seen.Note(r)
		}
		seen.Beyond(schema.Layout{})
	}
}
