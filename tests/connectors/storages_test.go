package connectors_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/storages"
	"waymark/tests/system"
	"waymark/workflows"
)

// TestExamplesLeaveTheSameOnEveryStorage runs the examples, and compares all that they leave: what the workflow says, the bytes of
// the outputs, and every column of the record, with the hashes of all rows and payloads, but those that tell when and by whom the
// work was done.
func TestExamplesLeaveTheSameOnEveryStorage(t *testing.T) {
	sample.Rarely(t)
	folder := filepath.Join(t.TempDir(), "documents") // the same for all: the record says where files are
	require.NoError(t, os.CopyFS(folder, os.DirFS(example)))
	data, _ := strikes(t, 4)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "data/birdstrikes.csv"), []byte(data), 0o600))
	var want *left
	for _, storage := range storages.Durable {
		t.Run(storage, func(t *testing.T) {
			got := runExamples(t, storage, folder)
			if want == nil {
				got.check(t)
				want = got
				return
			}
			got.compare(t, want)
		})
	}
}

// left is what the examples leave behind.
type left struct {
	results map[string]workflows.RunResult // by run
	outputs map[string]string              // by the file's name
	work    map[string]map[string][]string // by run and table
}

// runExamples runs the documents of a folder, whose outputs are then gone.
func runExamples(t *testing.T, storage, folder string) *left {
	t.Helper()
	var driver landscape.Driver
	s := system.StartWith(t, system.Options{Storage: func(t testing.TB, s *system.System) (landscape.Driver, payload.Backend) {
		var objects payload.Backend
		driver, objects = system.On(storage)(t, s)
		return driver, objects
	}})
	s.Folder = folder
	out := filepath.Join(folder, "out")
	require.NoError(t, os.RemoveAll(out)) // somebody may have run them where they are
	documents, err := filepath.Glob(filepath.Join(s.Folder, "*.yaml"))
	require.NoError(t, err)
	l := &left{results: map[string]workflows.RunResult{}, work: map[string]map[string][]string{}}
	for _, document := range documents {
		run := strings.TrimSuffix(filepath.Base(document), ".yaml")
		l.results[run], err = s.Run(t, run, s.Read(t, run+".yaml"))
		require.NoError(t, err)
		findings, err := s.Log.Sweep(t.Context(), run, true)
		require.NoError(t, err)
		require.Empty(t, findings, run)
		s.Verify(t, run)
		l.work[run] = storages.Work(t, driver, run)
	}
	l.outputs = read(t, out)
	return l
}

func read(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	files := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		require.NoError(t, err)
		files[entry.Name()] = string(content)
	}
	return files
}

// check requires that there is something to compare.
func (l *left) check(t *testing.T) {
	t.Helper()
	require.Len(t, l.results, 3)
	result := l.results["pipeline"]
	require.Equal(t, pipeline.CompletedWithFailures, result.Status)
	require.EqualValues(t, 2_500, result.Rows)
	require.Equal(t, 81+1, strings.Count(l.outputs["review.csv"], "\n"))
	require.Equal(t, 2_411, strings.Count(l.outputs["strikes.jsonl"], "\n"))
	for run, tables := range l.work {
		for _, table := range []string{"runs", "nodes", "chunk_rows", "passages", "hashes", "ways", "effects", "artifacts"} {
			require.NotEmpty(t, tables[table], "%s, %s", run, table)
		}
	}
	for _, table := range []string{"folds", "batches", "members", "parents"} {
		require.NotEmpty(t, l.work["daily-roll-up"][table], table)
	}
	require.NotEmpty(t, l.work["second-opinion"]["merge_codes"])
}

func (l *left) compare(t *testing.T, want *left) {
	t.Helper()
	require.Equal(t, want.results, l.results)
	require.Equal(t, slices.Sorted(maps.Keys(want.outputs)), slices.Sorted(maps.Keys(l.outputs)))
	for name, content := range want.outputs {
		require.True(t, content == l.outputs[name], "%s differs", name) // a comparison of megabytes would say nothing
	}
	for run, tables := range want.work {
		for _, table := range slices.Sorted(maps.Keys(tables)) {
			require.Equal(t, tables[table], l.work[run][table], "%s, %s", run, table)
		}
	}
}
