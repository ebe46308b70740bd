package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/tests/services/pg"
)

// TestTheSinkTakesWhatTheSourceReads copies a row with a value of each type, undeclared and declared as strings: the same values are
// in the table, and found to be as they were written.
func TestTheSinkTakesWhatTheSourceReads(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec(ownTypes + "; create domain tags as text[]; create domain few as tags")
	types, values, texts := []string{"id int primary key"}, []string{"1"}, []string{"id::text"}
	columns, strs := []plugin.Field{{Name: "id", Kind: row.Int}}, []string{"id", "int"}
	add := func(kind, value string) {
		name := fmt.Sprintf("v%d", len(columns))
		types, values = append(types, name+" "+kind), append(values, value)
		if text := name + "::text"; kind == "json" {
			texts = append(texts, name+"::jsonb::text") // a json is written in its normal form
		} else {
			texts = append(texts, text)
		}
		columns, strs = append(columns, plugin.Field{Name: name, Optional: true}), append(strs, name, "string?")
	}
	for _, c := range everyType {
		if c.refused == "" && !strings.Contains(c.value, "]=") { // where an array begins is not read
			add(c.kind, c.value)
		}
	}
	for kind, value := range map[string]string{
		"numeric": "100", "numeric[]": "'{12345678901234567890.120,NaN}'", "uuid[]": "null", "jsonb": `'"text"'`, "jsonb[]": `array['"a"', '[1,2.50]', '7', null]::jsonb[]`,
		"text[][]": `'{{a,"\"{}\\"},{NULL,"NULL"}}'`, "bytea[]": `array['\x00ff']::bytea[]`, "date[]": "'{2001-01-31}'", "few": "'{a,b c}'", "text": "'[not an array'",
		"pair[]": `array[row(1,'a "b"')::pair]`, "interval[]": "'{1 day}'",
	} {
		if kind != "numeric[]" { // a NaN is not read
			add(kind, value)
			continue
		}
		add(kind, strings.Replace(value, ",NaN", "", 1))
	}
	d.exec("create table t (" + strings.Join(types, ", ") + "); insert into t values (" + strings.Join(values, ", ") + ")")
	select_ := "select array[" + strings.Join(texts, ", ") + "]::text from "
	for table, schema := range map[string]pipeline.Schema{"undeclared": {}, "strings": fields(strs...)} {
		d.exec("create table " + table + " (like t including all)")
		s := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "t"}, schema)
		records, bad, _ := read(t, s, many, false)
		require.Empty(t, bad)
		parsed := parsedFirst(t, s, records)
		sink, w := pipeline.PostgresSink{DSN: db.DSN(), Table: table, Mode: pipeline.UpsertMode, Key: []string{"id"}}, (*testWriter)(nil)
		for _, run := range []string{"new-" + table, "again-" + table} { // the second one merges
			w = newWriter(t, sink, run, columns)
			w.add(parsed.Values)
			w.write()
			w.publish()
			require.Equal(t, d.all(select_+"t"), d.all(select_+table), run)
		}
		found, err := w.target.(plugin.Attester).Attest(t.Context(), (&attestedTable{}).written(w))
		require.NoError(t, err)
		require.Empty(t, found.Findings, table)
		require.EqualValues(t, 1, found.Equal)
	}
}

// parsedFirst parses the first record as the source does with the context of its chunk.
func parsedFirst(t *testing.T, s plugin.Source, records []string) row.Row {
	t.Helper()
	pin, err := s.Stat(t.Context())
	require.NoError(t, err)
	r, err := s.Open(t.Context(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	defer r.Close()
	var c plugin.Chunk
	require.NoError(t, r.Next(t.Context(), many, &c))
	parser, err := s.Parser(c.Context)
	require.NoError(t, err)
	parsed, err := parser.Parse(records[0], nil)
	require.NoError(t, err)
	return parsed
}

// TestColumnsKeepTheirTypes shows the kinds of fields that are not declared.
func TestColumnsKeepTheirTypes(t *testing.T) {
	db := pg.New(t)
	s := source(t, pipeline.PostgresSource{DSN: db.DSN(), OrderBy: []string{"a"}, Query: `
		select 100::numeric as a, 1::float8 as b, '2001-01-31'::date as c, '2001-01-31 10:00'::timestamp as d, '"x"'::jsonb as e, 7 as f, '{1.50}'::numeric[] as g, null::numeric as h`},
		pipeline.Schema{})
	records, _, _ := read(t, s, many, false)
	parsed := parsedFirst(t, s, records)
	require.Equal(t, `{"a":{"$decimal":"100"},"b":1.0,"c":{"$date":"2001-01-31"},"d":{"$timestamp":"2001-01-31T10:00:00Z"},"e":{"$json":"x"},"f":7,"g":[1.50],"h":null}`,
		string(row.AppendCanonical(nil, parsed)))
}
