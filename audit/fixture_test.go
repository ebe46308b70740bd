package audit_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/landscape"
	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/pipeline"
	"waymark/tests/inprocess"
	"waymark/tests/services"
	"waymark/worker"
	"waymark/workflows"
)

// fixture is a record of runs, and a folder with their documents and outputs. The runs need no server: what is asked
// here is what they recorded.
type fixture struct {
	*inprocess.Record
	Folder  string // of documents and outputs
	objects *memstore.Store

	bare []byte // what tampered makes copies of
}

// newFixture makes an empty fixture that ends with the test.
func newFixture(t testing.TB) *fixture {
	t.Helper()
	return newFixtureWith(t, func(p recompute.Planner) recompute.Planner { return p })
}

// newFixtureWith makes an empty fixture whose documents are compiled by what planner makes of the usual Planner.
func newFixtureWith(t testing.TB, planner func(recompute.Planner) recompute.Planner) *fixture {
	t.Helper()
	r := inprocess.New(t)
	r.Planner = planner(worker.Planner{FingerprintKey: []byte("a key for tests")})
	s := &fixture{Record: r, Folder: filepath.Join(r.Folder, "documents"), objects: r.Objects().(*memstore.Store)}
	require.NoError(t, os.Mkdir(s.Folder, 0o700))
	r.Log = landscape.New(r.Driver(), nil) // the log of a Record has what runs need, and no more
	return s
}

// process takes the place of a test where something lasts until the process ends.
type process struct{ testing.TB }

// Context does what testing.TB says.
func (process) Context() context.Context { return context.Background() }

// Cleanup does what testing.TB says.
func (p process) Cleanup(end func()) { services.OnEnd(p.TB, end) }

// shared has the fixtures of sharedRun, by the document of their run.
var shared = map[string]*fixture{}

// sharedRun returns a fixture in which the document was run, once in the process: a run takes longer than most
// questions about it. A test puts back whatever it changes of it, and has other runs in a fixture of its own.
func sharedRun(t *testing.T, document string, files map[string]string) *fixture {
	t.Helper()
	if s := shared[document]; s != nil {
		return s
	}
	s := newFixture(process{t})
	s.Write(t, files)
	result, err := s.Run(t, run, document)
	require.NoError(t, err)
	require.Equal(t, pipeline.CompletedWithFailures, result.Status)
	shared[document] = s
	return s
}

// Write writes files, by name, into the folder of documents.
func (s *fixture) Write(t *testing.T, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(s.Folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(files[name]), 0o600))
	}
}

// Read reads a file of the folder of documents.
func (s *fixture) Read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.Folder, name))
	require.NoError(t, err)
	return string(content)
}

// Run runs the document in the folder of documents to its end. The error is that of the workflow.
func (s *fixture) Run(t *testing.T, id, document string) (workflows.RunResult, error) {
	t.Helper()
	s.bare = nil
	err := s.Start(t, document, activities.OpenInput{Run: id, File: "pipeline.yaml", Folder: s.Folder}, nil)
	return s.Result, err
}

// damage replaces the bytes of a payload until the test ends; nil deletes them.
func (s *fixture) damage(t *testing.T, digest string, change func([]byte) []byte) {
	t.Helper()
	good, err := s.objects.Read(t.Context(), digest, payload.DefaultMaxBytes)
	require.NoError(t, err)
	if change != nil {
		s.objects.Plant(digest, change(slices.Clone(good)))
	} else {
		require.NoError(t, s.objects.Delete(t.Context(), digest))
	}
	t.Cleanup(func() { s.objects.Plant(digest, good) })
}
