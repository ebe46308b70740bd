package csv

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/plugintest"
)

func csvSink(t testing.TB, spec pipeline.CSVSink) plugin.Sink {
	t.Helper()
	spec.Path = "out.csv"
	sink, err := NewSink("all", pipeline.Sink{CSV: &spec}, filesIn(t, t.TempDir()))
	require.NoError(t, err)
	return sink
}

func csvEncoderFor(t testing.TB, spec pipeline.CSVSink, fields ...string) plugin.Encoder {
	t.Helper()
	encoder, err := csvSink(t, spec).Encoder(fields, false)
	require.NoError(t, err)
	return encoder
}

func rowOf(fields []string, values ...row.Value) row.Row {
	return row.Row{Shape: row.NewShape(fields), Values: values}
}

func parsed(t require.TestingT, kind row.Kind, text string) row.Value {
	v, err := row.Parse(kind, text)
	require.NoError(t, err)
	return v
}

// TestCSVCells: quotes only where a reader would take the cell for something else.
func TestCSVCells(t *testing.T) {
	for _, c := range []struct {
		name  string
		value row.Value
		want  string
	}{
		{"null", row.NullValue(), ``},
		{"BI-025 empty", row.StringValue(""), `""`},
		{"plain", row.StringValue("a b"), `a b`},
		{"delimiter", row.StringValue("a,b"), `"a,b"`},
		{"quote", row.StringValue(`say "hi"`), `"say ""hi"""`},
		{"only a quote", row.StringValue(`"`), `""""`},
		{"BI-010 CRLF", row.StringValue("a\r\nb"), "\"a\r\nb\""},
		{"BI-011 LF", row.StringValue("a\nb"), "\"a\nb\""},
		{"CR", row.StringValue("a\rb"), "\"a\rb\""},
		{"BI-026 leading space", row.StringValue(" a"), `" a"`},
		{"trailing space", row.StringValue("a "), `"a "`},
		{"end of COPY", row.StringValue(`\.`), `"\."`},
		{"backslash", row.StringValue(`a\.`), `a\.`},
		{"byte order mark", row.StringValue("\ufeffid"), "\"\ufeffid\""},
		{"BI-117 U+2028", row.StringValue("a\u2028b"), "a\u2028b"},
		{"BI-007 NUL", row.StringValue("a\x00b"), "a\x00b"},
		{"BI-035 formula", row.StringValue(`=cmd|'/C calc'!A0`), `=cmd|'/C calc'!A0`},
		{"bool", row.BoolValue(true), `true`},
		{"int", row.IntValue(-42), `-42`},
		{"float", row.FloatValue(1), `1.0`},
		{"decimal", parsed(t, row.Decimal, "-1.50"), `-1.50`},
		{"date", parsed(t, row.Date, "2001-01-31"), `2001-01-31`},
		{"timestamp", parsed(t, row.Timestamp, "2001-01-31T23:59:59.5Z"), `2001-01-31T23:59:59.5Z`},
		{"json", parsed(t, row.JSON, `{"b":1,"a":"x"}`), `"{""a"":""x"",""b"":1}"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			fields := []string{"cell", "last"}
			got, err := csvEncoderFor(t, pipeline.CSVSink{}, fields...).Append(nil, rowOf(fields, c.value, row.IntValue(1)))
			require.NoError(t, err)
			require.Equal(t, c.want+",1\n", string(got))
		})
	}
}

// TestCSVFormulas: with escape, a text that a spreadsheet would run is one that it shows (BI-035).
func TestCSVFormulas(t *testing.T) {
	for _, c := range []struct {
		value row.Value
		want  string
	}{
		{row.StringValue("=1+1"), `"'=1+1"`},
		{row.StringValue("+1"), `"'+1"`},
		{row.StringValue("-1"), `"'-1"`},
		{row.StringValue("@SUM(A1)"), `"'@SUM(A1)"`},
		{row.StringValue("\tx"), "\"'\tx\""},
		{row.StringValue("\rx"), "\"'\rx\""},
		{row.StringValue(`=HYPERLINK("x")`), `"'=HYPERLINK(""x"")"`},
		{parsed(t, row.JSON, "-1"), `"'-1"`},
		{row.StringValue("a=b"), `a=b`},
		{row.StringValue(""), `""`},
		{row.IntValue(-1), `-1`},
		{row.FloatValue(-1.5), `-1.5`},
		{parsed(t, row.Decimal, "-1.50"), `-1.50`},
	} {
		fields := []string{"cell"}
		got, err := csvEncoderFor(t, pipeline.CSVSink{Formulas: "escape"}, fields...).Append(nil, rowOf(fields, c.value))
		require.NoError(t, err)
		require.Equal(t, c.want+"\n", string(got))
	}
	require.Equal(t, "\"'=id\"\n", string(csvEncoderFor(t, pipeline.CSVSink{Formulas: "escape"}, "=id").Header()))
}

func TestCSVHeader(t *testing.T) {
	require.Equal(t, "id,\"a,b\",\" c\"\n", string(csvEncoderFor(t, pipeline.CSVSink{}, "id", "a,b", " c").Header()))
	require.Equal(t, "b,a\n", string(csvEncoderFor(t, pipeline.CSVSink{Columns: []string{"b", "a"}}, "a", "b", "c").Header()))
	require.Equal(t, "a\tb\r\n", string(csvEncoderFor(t, pipeline.CSVSink{Delimiter: "tab", CRLF: true}, "a", "b").Header()))
	require.Equal(t, "\"\"\n", string(csvEncoderFor(t, pipeline.CSVSink{}, "").Header()))
}

// TestCSVColumns: rows of several shapes go under one header.
func TestCSVColumns(t *testing.T) {
	encoder := csvEncoderFor(t, pipeline.CSVSink{Columns: []string{"c", "a"}, Delimiter: ";", CRLF: true}, "a", "b", "c")
	got, err := encoder.Append(nil, rowOf([]string{"a", "b", "c"}, row.IntValue(1), row.IntValue(2), row.StringValue("x;y")))
	require.NoError(t, err)
	got, err = encoder.Append(got, rowOf([]string{"b", "a"}, row.IntValue(3), row.IntValue(4)))
	require.NoError(t, err)
	require.Equal(t, "\"x;y\";1\r\n;4\r\n", string(got))
}

func TestCSVRejections(t *testing.T) {
	_, err := csvEncoderFor(t, pipeline.CSVSink{}, "a").Append(nil, rowOf([]string{"a"}, row.NullValue()))
	require.Equal(t, "LONE_NULL: a: null in the only column would be a blank line; add a column or write jsonl", err.Error())
	_, err = csvEncoderFor(t, pipeline.CSVSink{}, "a").Append(nil, rowOf([]string{"a", "b"}, row.IntValue(1), row.IntValue(2)))
	require.Equal(t, "EXTRA_FIELD: b: the file has no column for this field; list columns", err.Error())
}

func TestCSVEncoderErrors(t *testing.T) {
	for _, c := range []struct {
		columns, fields []string
		open            bool
		want            string
	}{
		{nil, []string{"a"}, true, "sinks.all: rows may carry fields that the schema does not declare, and a CSV file has one header for " +
			"all of them; list columns, declare the fields with schema mode fixed, or write jsonl"},
		{nil, nil, false, "sinks.all: rows have no fields, so that there are no columns to write"},
		{[]string{"x"}, []string{"a", "b"}, false, `sinks.all: columns: no row has a field "x"; the fields are a, b`},
	} {
		_, err := csvSink(t, pipeline.CSVSink{Columns: c.columns}).Encoder(c.fields, c.open)
		require.EqualError(t, err, c.want)
	}
	_, err := csvSink(t, pipeline.CSVSink{Columns: []string{"x"}}).Encoder([]string{"a"}, true)
	require.NoError(t, err, "a row may carry x")
}

// TestCSVOptions: BI-039 and its kind are rejected before anything is written.
func TestCSVOptions(t *testing.T) {
	files := filesIn(t, t.TempDir())
	bad := map[string]pipeline.CSVSink{
		`delimiter: "||"`:        {Delimiter: "||"},
		`delimiter: "\""`:        {Delimiter: `"`},
		`delimiter: "\x00"`:      {Delimiter: "\x00"},
		`delimiter: "\n"`:        {Delimiter: "\n"},
		`delimiter: "-"`:         {Delimiter: "-"},
		`delimiter: "e"`:         {Delimiter: "e"},
		`delimiter: "§"`:         {Delimiter: "§"},
		`formulas: "remove"`:     {Formulas: "remove"},
		`columns: "a" is listed`: {Columns: []string{"a", "b", "a"}},
	}
	for want, spec := range bad {
		spec.Path = "out.csv"
		_, err := NewSink("all", pipeline.Sink{CSV: &spec}, files)
		require.ErrorContains(t, err, "sinks.all: "+want)
	}
}

func TestCSVEncoderContract(t *testing.T) {
	fields := []string{"id", "name"}
	shape := row.NewShape(fields)
	good := []row.Row{
		{Shape: shape, Values: []row.Value{row.IntValue(1), row.StringValue("a")}},
		rowOf([]string{"name", "id"}, row.StringValue(`"`), row.IntValue(2)),
		{Shape: shape, Values: []row.Value{row.NullValue(), row.StringValue("")}},
		rowOf([]string{"name"}, row.StringValue("only a name")),
	}
	bad := []row.Row{rowOf([]string{"id", "name", "more"}, row.IntValue(1), row.IntValue(2), row.IntValue(3))}
	newEncoder := func() plugin.Encoder { return csvEncoderFor(t, pipeline.CSVSink{}, fields...) }
	plugintest.TestEncoder(t, newEncoder, good, bad)
	t.Run("one column", func(t *testing.T) {
		one := func() plugin.Encoder { return csvEncoderFor(t, pipeline.CSVSink{}, "id") }
		plugintest.TestEncoder(t, one, []row.Row{rowOf([]string{"id"}, row.StringValue(""))}, []row.Row{rowOf([]string{"id"}, row.NullValue())})
	})
}

// TestCSVNoAllocation: rows of one shape, and of shapes in turn, cost no memory besides their bytes.
func TestCSVNoAllocation(t *testing.T) {
	encoder, rows := benchmarkRows(t, pipeline.CSVSink{})
	dst := make([]byte, 0, 1<<16)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, r := range rows {
			dst, _ = encoder.Append(dst[:0], r)
		}
	}))
}

// benchmarkRows returns rows of ten columns in two shapes of the same fields, and an encoder for them.
func benchmarkRows(t testing.TB, spec pipeline.CSVSink) (plugin.Encoder, []row.Row) {
	fields := []string{"id", "airport", "flight_date", "species", "cost", "speed", "height", "damage", "remarks", "seen"}
	values := []row.Value{
		row.IntValue(1234567), row.StringValue("DALLAS/FORT WORTH INTL"), parsed(t, row.Date, "2001-01-31"), row.StringValue("Rock pigeon"),
		row.IntValue(20000), row.FloatValue(130.5), row.IntValue(500), row.BoolValue(true), row.StringValue(`struck "left" wing, no damage`),
		row.NullValue(),
	}
	rows := []row.Row{rowOf(fields, values...), rowOf(fields, values...)}
	return csvEncoderFor(t, spec, fields...), rows
}

func BenchmarkCSVEncoder(b *testing.B) {
	encoder, rows := benchmarkRows(b, pipeline.CSVSink{})
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = encoder.Append(dst[:0], rows[0])
	}
	b.SetBytes(int64(len(dst)))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
