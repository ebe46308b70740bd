package parquet

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/jsonl"
)

// tenColumns are rows as those of the bench of the whole: ten columns of the usual types.
func tenColumns(n int) ([]plugin.Field, []row.Row) {
	fields := []plugin.Field{
		{Name: "id", Kind: row.Int}, {Name: "customer", Kind: row.String}, {Name: "city", Kind: row.String}, {Name: "channel", Kind: row.String},
		{Name: "day", Kind: row.Date}, {Name: "at", Kind: row.Timestamp}, {Name: "total", Kind: row.Decimal}, {Name: "weight", Kind: row.Float},
		{Name: "paid", Kind: row.Bool}, {Name: "note", Kind: row.String, Optional: true},
	}
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.Name
	}
	shape := row.NewShape(names)
	rows := make([]row.Row, n)
	for i := range rows {
		total, _ := row.Parse(row.Decimal, fmt.Sprintf("%d.%02d", i%5000, i%100))
		note := row.NullValue()
		if i%4 == 0 {
			note = row.StringValue(fmt.Sprintf("note %d", i))
		}
		rows[i] = row.Row{Shape: shape, Values: []row.Value{
			row.IntValue(int64(i)), row.StringValue(fmt.Sprintf("customer %d", i*7919%100_000)), row.StringValue([]string{"Bern", "Basel", "Genf"}[i%3]),
			row.StringValue([]string{"web", "shop"}[i%2]), row.DateValue(int64(20000 + i%365)), row.TimestampValue(int64(1_700_000_000+i), 0),
			total, row.FloatValue(float64(i) / 8), row.BoolValue(i%3 == 0), note,
		}}
	}
	return fields, rows
}

const benchRows = 32768

func perRow(b *testing.B, rows int, began time.Time) {
	b.ReportMetric(float64(rows)/time.Since(began).Seconds(), "rows/s")
}

func BenchmarkWrite(b *testing.B) {
	fields, rows := tenColumns(benchRows)
	for _, compression := range []string{"zstd", "snappy", "none"} {
		b.Run(compression, func(b *testing.B) {
			e := encoderOf(b, pipeline.ParquetSink{Compression: compression}, fields)
			began, size := time.Now(), 0
			for range b.N {
				size = len(fileOf(b, e, rows))
			}
			perRow(b, b.N*benchRows, began)
			b.ReportMetric(float64(size)/benchRows, "B/row")
		})
	}
}

// BenchmarkRead reads records, parses them by their text, and by their cells, as a run does with columns that are declared.
func BenchmarkRead(b *testing.B) {
	fields, rows := tenColumns(benchRows)
	file := fileOf(b, encoderOf(b, pipeline.ParquetSink{}, fields), rows)
	for _, what := range []struct {
		name   string
		schema pipeline.Schema
		parse  bool
	}{{"records", observed, false}, {"text", observed, true}, {"cells", schemaFor(b, file, natural(true)), true}} {
		b.Run(what.name, func(b *testing.B) {
			records, err := jsonl.NewRecords(what.schema)
			require.NoError(b, err)
			source := &source{name: "in", store: memory{file}, records: records}
			pin, err := source.Stat(b.Context())
			require.NoError(b, err)
			began := time.Now()
			for range b.N {
				benchRead(b, source, pin, what.parse)
			}
			perRow(b, b.N*benchRows, began)
		})
	}
}

func benchRead(b *testing.B, source plugin.Source, pin plugin.SourceInfo, parse bool) {
	r, err := source.Open(b.Context(), plugin.Cursor{}, pin)
	require.NoError(b, err)
	parser, err := source.Parser(nil)
	require.NoError(b, err)
	var c plugin.Chunk
	var values []row.Value
	for {
		if err := r.Next(b.Context(), chunkLimits, &c); err == io.EOF {
			require.NoError(b, r.Close())
			return
		} else if err != nil {
			require.NoError(b, err)
		}
		if !parse {
			continue
		}
		text := string(c.Data)
		for i := range c.Len() {
			parsed, err := parseRecord(parser, &c, i, text[c.Offsets[i]:c.Offsets[i]+c.Lengths[i]], values)
			if err != nil {
				require.NoError(b, err)
			}
			values = parsed.Values
		}
	}
}

func parseRecord(parser plugin.Parser, c *plugin.Chunk, i int, text string, values []row.Value) (row.Row, error) {
	if c.Cells.Columns == nil {
		return parser.Parse(text, values)
	}
	return parser.(plugin.CellParser).ParseCells(&c.Cells, i, text, values)
}
