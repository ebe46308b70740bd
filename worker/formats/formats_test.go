package formats_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin/file"
	"waymark/worker/formats"
)

func filesIn(t *testing.T, folder string) file.Access {
	root, err := file.NewRoot(folder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return file.Access{Root: root}
}

func TestEntriesWithoutAFormatAreRefused(t *testing.T) {
	all := formats.Formats{Files: filesIn(t, t.TempDir())}
	_, err := all.Source("in", pipeline.Source{})
	require.EqualError(t, err, "sources.in: has no format; give it csv or jsonl")
	_, err = all.Source("in", pipeline.Source{CSV: &pipeline.CSVSource{}, JSONL: &pipeline.JSONLSource{}})
	require.EqualError(t, err, "sources.in: has both csv and jsonl; make two sources of it")
	_, err = all.Sink("all", pipeline.Sink{})
	require.EqualError(t, err, "sinks.all: has no format; give it csv or jsonl")
	_, err = all.Table("codes", pipeline.Lookup{})
	require.EqualError(t, err, "has no format; give it csv or jsonl")
}

func TestOutputsLieBesideThoseOfTheDocument(t *testing.T) {
	folder := t.TempDir()
	plain := filesIn(t, folder)
	beside := plain
	beside.Beside = "retry-2"
	target := pipeline.FileTarget{Path: "out/a.x"}
	for name, spec := range map[string]pipeline.Sink{
		"csv": {CSV: &pipeline.CSVSink{FileTarget: target}}, "jsonl": {JSONL: &pipeline.JSONLSink{FileTarget: target}},
		"parquet": {Parquet: &pipeline.ParquetSink{Path: "out/a.x"}},
	} {
		for want, files := range map[string]file.Access{"out/a.x": plain, "out/a.retry-2.x": beside} {
			sink, err := formats.Formats{Files: files}.Sink("s", spec)
			require.NoError(t, err, name)
			require.Equal(t, filepath.Join(folder, want), sink.Location(), name)
		}
	}
}
