package csv

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
	"waymark/plugin/file/filetest"
)

const benchRows = 50_000

// benchCSV returns rows of ten columns: ints, dates and strings. Every nth row has a quoted cell; 0: none.
func benchCSV(nth int) string {
	var b strings.Builder
	b.WriteString("id,day,airport,model,damage,operator,state,phase,cost,speed\n")
	for i := range benchRows {
		operator := "MILITARY"
		if nth > 0 && i%nth == 0 {
			operator = `"SOUTHWEST, INC"`
		}
		fmt.Fprintf(&b, "%d,1990-01-%02d,BARKSDALE AIR FORCE BASE,T-38A,None,%s,Louisiana,Climb,%d,%d\n", i, i%28+1, operator, i%977, i%431)
	}
	return b.String()
}

func benchSchema() pipeline.Schema {
	return filetest.Fields("", "id", "int", "day", "date", "airport", "string", "model", "string", "damage", "string",
		"operator", "string", "state", "string", "phase", "string", "cost", "int", "speed", "int?")
}

// BenchmarkSplit divides text into records, without file and hash.
func BenchmarkSplit(b *testing.B) {
	for name, nth := range map[string]int{"plain": 0, "quotes in 1 of 10": 10, "quotes in all": 1} {
		b.Run(name, func(b *testing.B) {
			text := []byte(benchCSV(nth))
			s := dialect{newline: '\n', delimiter: ',', quote: '"', maxRecord: file.MaxRecordBytes}
			lines := s.lines()
			var chunk plugin.Chunk
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				chunk.Reset()
				lines.Begin()
				used, _ := lines.Split(text, true, filetest.Large, &chunk)
				require.Equal(b, len(text), used)
			}
			require.Equal(b, benchRows+1, chunk.Len())
		})
	}
}

// BenchmarkRead reads a file in chunks of 10,000 rows, with the SHA-256 of the file.
func BenchmarkRead(b *testing.B) {
	text := benchCSV(10)
	source := csvOf(b, text, pipeline.CSVSource{}, benchSchema())
	info, err := source.Stat(b.Context())
	require.NoError(b, err)
	b.SetBytes(int64(len(text)))
	var chunk plugin.Chunk
	for b.Loop() {
		reader, err := source.Open(b.Context(), plugin.Cursor{}, info)
		require.NoError(b, err)
		for err == nil {
			err = reader.Next(b.Context(), plugin.Limits{Rows: 10_000, Bytes: 8 << 20}, &chunk)
		}
		require.Equal(b, io.EOF, err)
		require.NoError(b, reader.Close())
	}
}

// benchRecords returns the records of a source as strings.
func benchRecords(b *testing.B, source plugin.Source) (records []string, parser plugin.Parser) {
	info, err := source.Stat(b.Context())
	require.NoError(b, err)
	reader, err := source.Open(b.Context(), plugin.Cursor{}, info)
	require.NoError(b, err)
	var chunk plugin.Chunk
	require.NoError(b, reader.Next(b.Context(), filetest.Large, &chunk))
	require.NoError(b, reader.Close())
	for i := range chunk.Len() {
		records = append(records, string(chunk.Record(i)))
	}
	parser, err = source.Parser(chunk.Context)
	require.NoError(b, err)
	return records, parser
}

func benchParse(b *testing.B, source plugin.Source) {
	records, parser := benchRecords(b, source)
	var values []row.Value
	rows := 0
	b.ReportAllocs()
	for b.Loop() {
		parsed, err := parser.Parse(records[rows%len(records)], values)
		if err != nil {
			b.Fatal(err)
		}
		values = parsed.Values
		rows++
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkParse parses rows of ten columns into typed values.
func BenchmarkParse(b *testing.B) {
	b.Run("csv plain", func(b *testing.B) {
		benchParse(b, csvOf(b, benchCSV(0), pipeline.CSVSource{}, benchSchema()))
	})
	b.Run("csv quoted", func(b *testing.B) {
		benchParse(b, csvOf(b, benchCSV(1), pipeline.CSVSource{}, benchSchema()))
	})
}

// TestParsingDoesNotAllocate holds the hot path to no allocation for a row.
func TestParsingDoesNotAllocate(t *testing.T) {
	source := csvOf(t, "", pipeline.CSVSource{}, benchSchema())
	header, record, _ := strings.Cut(benchCSV(1), "\n")
	record, _, _ = strings.Cut(record, "\n")
	parser, err := source.Parser([]byte(header))
	require.NoError(t, err)
	values := make([]row.Value, 0, 10)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, err = parser.Parse(record, values) }))
	require.NoError(t, err)
}
