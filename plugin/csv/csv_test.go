package csv

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin/file"
	"waymark/plugin/file/filetest"
)

// filesIn returns how to reach the files in a folder.
func filesIn(t testing.TB, dir string) file.Access {
	root, err := file.NewRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return file.Access{Root: root}
}

// readCSV reads one file of CSV.
func readCSV(t testing.TB, text string, options pipeline.CSVSource, schema pipeline.Schema) filetest.Outcome {
	return filetest.Collect(t, csvOf(t, text, options, schema), filetest.Large)
}

func csvOf(t testing.TB, text string, options pipeline.CSVSource, schema pipeline.Schema) *Source {
	if options.Path == "" {
		options.Path = "in.csv"
	}
	files := filesIn(t, filetest.Folder(t, map[string]string{options.Path: text}))
	source, err := NewSource("in", pipeline.Source{CSV: &options, Schema: schema}, files)
	require.NoError(t, err)
	return source.(*Source)
}
