package jsonl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
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

// readJSONL reads one file of JSON Lines.
func readJSONL(t testing.TB, text string, paths pipeline.Files, schema pipeline.Schema) filetest.Outcome {
	if paths.Path == "" {
		paths.Path = "in.jsonl"
	}
	return filetest.Collect(t, sourceOf(t, text, pipeline.Source{JSONL: &pipeline.JSONLSource{Files: paths}, Schema: schema}), filetest.Large)
}

// sourceOf returns the source, whose file holds the text.
func sourceOf(t testing.TB, text string, spec pipeline.Source) plugin.Source {
	var path string
	if spec.JSON != nil {
		path = spec.JSON.Path
	} else {
		path = spec.JSONL.Path
	}
	source, err := NewSource("in", spec, filesIn(t, filetest.Folder(t, map[string]string{path: text})))
	require.NoError(t, err)
	return source
}

func rowOf(fields []string, values ...row.Value) row.Row {
	return row.Row{Shape: row.NewShape(fields), Values: values}
}

func parsed(t require.TestingT, kind row.Kind, text string) row.Value {
	value, err := row.Parse(kind, text)
	require.NoError(t, err)
	return value
}
