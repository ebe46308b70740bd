package file_test

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/csv"
	"waymark/plugin/file"
	"waymark/plugin/file/filetest"
	"waymark/plugin/jsonl"
)

// TestRoundTrip: what a sink writes, the source of the same format reads back as equal rows (SNK-13).
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	root, err := file.NewRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	rapid.Check(t, func(t *rapid.T) {
		shape, schema := drawShape(t)
		rows := rapid.SliceOfN(drawRow(shape, schema), 0, 8).Draw(t, "rows")
		sink, source := drawFormat(t, schema)
		encoder := encoderOf(t, sink, root, shape)
		text, kept := encoder.Header(), []row.Row{}
		for _, r := range rows {
			longer, err := encoder.Append(text, r)
			if _, ok := errors.AsType[*plugin.Rejection](err); ok {
				continue
			}
			text, kept = longer, append(kept, r)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), text, 0o644))
		requireSameRows(t, kept, readBack(t, source, root), text)
	})
}

// TestRoundTripOddTexts: every odd text alone in its file, as the only cell, comes back.
func TestRoundTripOddTexts(t *testing.T) {
	dir := t.TempDir()
	root, err := file.NewRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	shape := row.NewShape([]string{"only"})
	schema := filetest.Fields("fixed", "only", "string?")
	for _, text := range oddTexts {
		r := row.Row{Shape: shape, Values: []row.Value{row.StringValue(text)}}
		encoder := encoderOf(t, pipeline.Sink{CSV: &pipeline.CSVSink{}}, root, shape)
		written, err := encoder.Append(encoder.Header(), r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), written, 0o644))
		source := pipeline.Source{CSV: &pipeline.CSVSource{Header: "exact"}, Schema: schema}
		requireSameRows(t, []row.Row{r}, readBack(t, source, root), written)
	}
}

var oddTexts = []string{
	"", `"`, `""`, ",", ";", "\t", "\n", "\r", "\r\n", "\\.", " ", " x", "x ", " \"x\"", "'", "=1+1", "#comment", "\ufeff", "\ufeffid",
	"null", "NULL", "0", "true", "\x00", "\u0085", "\u2028", "🦅", "a\r\nb,\"c\"\n", strings.Repeat("\"", 9),
}

// drawShape returns up to four fields of any kinds, all optional.
func drawShape(t *rapid.T) (*row.Shape, pipeline.Schema) {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"id", "a,b", " c", "d\"e", "f\ng", "\ufeffh", "ï"}), 1, 4, rapid.ID).Draw(t, "names")
	var pairs []string
	for range names {
		kind := rapid.SampledFrom([]string{"string", "int", "float", "bool", "date", "timestamp", "decimal", "json"}).Draw(t, "kind")
		pairs = append(pairs, names[len(pairs)/2], kind+"?")
	}
	return row.NewShape(names), filetest.Fields("fixed", pairs...)
}

func drawRow(shape *row.Shape, schema pipeline.Schema) *rapid.Generator[row.Row] {
	return rapid.Custom(func(t *rapid.T) row.Row {
		r := row.Row{Shape: shape}
		for _, field := range schema.Fields {
			r.Values = append(r.Values, drawValue(t, field.Value.Kind()))
		}
		return r
	})
}

func drawValue(t *rapid.T, kind row.Kind) row.Value {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return row.NullValue()
	}
	const firstDay, lastDay = -719162, 2932896 // 0001-01-01 and 9999-12-31
	switch kind {
	case row.Bool:
		return row.BoolValue(rapid.Bool().Draw(t, "bool"))
	case row.Int:
		return row.IntValue(rapid.Int64().Draw(t, "int"))
	case row.Float:
		return row.FloatValue(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "float"))
	case row.Date:
		return row.DateValue(rapid.Int64Range(firstDay, lastDay).Draw(t, "date"))
	case row.Timestamp:
		return row.TimestampValue(rapid.Int64Range(firstDay*86400, lastDay*86400).Draw(t, "seconds"), rapid.Uint32Range(0, 999_999_999).Draw(t, "nanos"))
	case row.Decimal:
		return parsed(t, kind, rapid.StringMatching(`-?[1-9][0-9]{0,30}(\.[0-9]{1,20})?`).Draw(t, "decimal"))
	case row.JSON:
		return parsed(t, kind, rapid.SampledFrom([]string{`{"a":"x,\"y\""}`, `[1,2.5]`, `[]`, `{"$date":[null]}`}).Draw(t, "json"))
	}
	odd := rapid.SampledFrom(oddTexts)
	return row.StringValue(rapid.OneOf(odd, rapid.String(), rapid.Map(rapid.SliceOfN(odd, 2, 4), func(s []string) string { return strings.Join(s, "") })).Draw(t, "text"))
}

func drawFormat(t *rapid.T, schema pipeline.Schema) (pipeline.Sink, pipeline.Source) {
	if rapid.Bool().Draw(t, "jsonl") {
		return pipeline.Sink{JSONL: &pipeline.JSONLSink{}}, pipeline.Source{JSONL: &pipeline.JSONLSource{}, Schema: schema}
	}
	delimiter := rapid.SampledFrom([]string{"", ";", "tab", "|"}).Draw(t, "delimiter")
	sink := &pipeline.CSVSink{Delimiter: delimiter, CRLF: rapid.Bool().Draw(t, "crlf")}
	source := &pipeline.CSVSource{Delimiter: delimiter, Header: "exact", TrimSpace: rapid.Bool().Draw(t, "trim")}
	return pipeline.Sink{CSV: sink}, pipeline.Source{CSV: source, Schema: schema}
}

func encoderOf(t require.TestingT, spec pipeline.Sink, root *file.Root, shape *row.Shape) plugin.Encoder {
	if spec.CSV != nil {
		spec.CSV.Path = "file"
	} else {
		spec.JSONL.Path = "file"
	}
	newSink := jsonl.NewSink
	if spec.CSV != nil {
		newSink = csv.NewSink
	}
	sink, err := newSink("all", spec, file.Access{Root: root})
	require.NoError(t, err)
	encoder, err := sink.Encoder(shape.Fields(), false)
	require.NoError(t, err)
	return encoder
}

// readBack returns the rows of the file, all of which must be good.
func readBack(t require.TestingT, spec pipeline.Source, root *file.Root) []row.Row {
	files := pipeline.Files{Path: "file", AllowEmpty: true, Compression: "none"}
	if spec.CSV != nil {
		spec.CSV.Files = files
	} else {
		spec.JSONL.Files = files
	}
	newSource := jsonl.NewSource
	if spec.CSV != nil {
		newSource = csv.NewSource
	}
	source, err := newSource("all", spec, file.Access{Root: root})
	require.NoError(t, err)
	pin, err := source.Stat(context.Background())
	require.NoError(t, err)
	reader, err := source.Open(context.Background(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	defer reader.Close()
	var rows []row.Row
	for {
		var c plugin.Chunk
		err := reader.Next(context.Background(), filetest.Large, &c)
		if err == io.EOF {
			return rows
		}
		require.NoError(t, err)
		require.Empty(t, c.Bad)
		require.Zero(t, c.Blank)
		parser, err := source.Parser(c.Context)
		require.NoError(t, err)
		for i := range c.Len() {
			r, err := parser.Parse(string(c.Record(i)), nil)
			require.NoError(t, err)
			rows = append(rows, r)
		}
	}
}

func requireSameRows(t require.TestingT, want, got []row.Row, text []byte) {
	require.Len(t, got, len(want), "%q", text)
	for i := range want {
		require.Equal(t, string(row.AppendCanonical(nil, want[i])), string(row.AppendCanonical(nil, got[i])), "%q", text)
	}
}

func parsed(t require.TestingT, kind row.Kind, text string) row.Value {
	value, err := row.Parse(kind, text)
	require.NoError(t, err)
	return value
}
