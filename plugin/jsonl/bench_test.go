package jsonl

import (
	"strings"
	"testing"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin/file/filetest"
)

// BenchmarkParse parses lines of ten keys into typed values.
func BenchmarkParse(b *testing.B) {
	declared := filetest.Fields("", "id", "int", "day", "date", "airport", "string", "model", "string", "damage", "string",
		"operator", "string", "state", "string", "phase", "string", "cost", "int", "speed", "int?")
	line := `{"id":17,"day":"1990-01-08","airport":"BARKSDALE AIR FORCE BASE","model":"T-38A","damage":"None",` +
		`"operator":"MILITARY","state":"Louisiana","phase":"Climb","cost":5,"speed":300}`
	for name, schema := range map[string]pipeline.Schema{"declared": declared, "observed": {}} {
		b.Run(name, func(b *testing.B) {
			parser := parserOf(b, schema)
			lines := make([]string, 1000)
			for i := range lines {
				lines[i] = strings.Clone(line)
			}
			var values []row.Value
			rows := 0
			b.ReportAllocs()
			for b.Loop() {
				parsed, err := parser.Parse(lines[rows%len(lines)], values)
				if err != nil {
					b.Fatal(err)
				}
				values = parsed.Values
				rows++
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
