package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// TestOnHost: a pipeline between buckets and tables needs the files of no machine.
func TestOnHost(t *testing.T) {
	for name, test := range map[string]struct {
		source, sink string
		want         bool
	}{
		"nothing of a machine": {"csv: {path: 's3://bucket/in.csv'}", "postgres: {dsn: 'postgres://db/x', table: t}", false},
		"from the web":         {"jsonl: {path: 'https://example.com/in.jsonl'}", "jsonl: {path: 's3://bucket/out', parts: true}", false},
		"a file is read":       {"parquet: {path: in.parquet}", "jsonl: {path: 's3://bucket/out', parts: true}", true},
		"a folder is written":  {"csv: {path: 's3://bucket/in.csv'}", "csv: {path: out, columns: [a]}", true},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := pipeline.Load("p.yaml", []byte("name: p\nsources:\n  in: {"+test.source+"}\nsinks:\n  out: {"+test.sink+"}\n"), pipeline.Environment{})
			require.NoError(t, err)
			require.Equal(t, test.want, onHost(&doc.Pipeline))
		})
	}
}
