package graphs_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/tests/graphs"
	"waymark/tests/inprocess"
	"waymark/tests/sample"
)

// TestExamples interprets the documents of testdata. Their results were worked out by hand: these are examples of what
// documents mean, and the interpreter's own test. Sections that an example leaves out are not compared.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 15)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { checkExample(t, path) })
	}
}

func checkExample(t *testing.T, path string) {
	doc, files := example(t, path)
	_, err := plan.Compile(doc, pluginsIn(t, doc, files))
	require.NoError(t, err)
	result := interpret(t, doc, files)
	sections := result.Text()
	require.Contains(t, files, "sinks")
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		if want, given := files[name]; given {
			require.Equal(t, want, sections[name], name)
		}
	}
	require.Empty(t, result.Balance())
}

// example reads an example: the document, its files, and the sections that are expected.
func example(t *testing.T, path string) (*pipeline.Document, map[string]string) {
	archive, err := txtar.ParseFile(path)
	require.NoError(t, err)
	files := map[string]string{}
	for _, file := range archive.Files {
		files[file.Name] = string(file.Data)
	}
	doc, err := pipeline.Load("pipeline.yaml", []byte(files["pipeline.yaml"]), pipeline.Environment{})
	require.NoError(t, err)
	return doc, files
}

// TestFail shows that a refused row stops the interpretation where the document says so.
func TestFail(t *testing.T) {
	doc, err := pipeline.Load("pipeline.yaml", []byte(`
name: example
sources: {s: {jsonl: {path: in}, schema: {fields: {n: int}}}}
steps: [{name: divide, set: {n: "1 / row.n"}, on_error: fail}]
sinks: {out: {jsonl: {path: o}}}
`), pipeline.Environment{})
	require.NoError(t, err)
	_, err = graphs.Interpret(doc, graphs.Read(doc, map[string]string{"in": "{\"n\":1}\n{\"n\":0}\n"}))
	require.EqualError(t, err, "divide refused s:2 with DIVISION_BY_ZERO, and the document says that this stops the run")
}

// TestExamplesForReal runs the same documents by the real thing.
func TestExamplesForReal(t *testing.T) {
	r := &record{inprocess.New(t)}
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	for _, path := range sample.Of(3, paths) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			doc, files := example(t, path)
			r.compare(t, strings.TrimSuffix(filepath.Base(path), ".txtar"), doc, files)
		})
	}
}
