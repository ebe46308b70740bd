package audit_test

import (
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
	"waymark/tests/blank"
	"waymark/tests/inprocess"
	"waymark/worker"
	"waymark/workflows"
)

// fixture is a record of runs, and a folder with their documents and outputs. The runs need no server: what is asked
// here is what they recorded.
type fixture struct {
	*inprocess.Record
	Folder  string // of documents and outputs
	objects *memstore.Store

	unguarded []byte // what tampered makes copies of
}

// newFixture makes an empty fixture that ends with the test.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureWith(t, func(p recompute.Planner) recompute.Planner { return p })
}

// newFixtureWith makes an empty fixture whose documents are compiled by what planner makes of the usual Planner.
func newFixtureWith(t *testing.T, planner func(recompute.Planner) recompute.Planner) *fixture {
	t.Helper()
	r := inprocess.New(t)
	r.Planner = planner(worker.Planner{FingerprintKey: []byte("a key for tests")})
	s := &fixture{Record: r, Folder: filepath.Join(r.Folder, "documents"), objects: r.Objects().(*memstore.Store)}
	require.NoError(t, os.Mkdir(s.Folder, 0o700))
	// This driver can be asked more than the one of a Record, which has what runs need.
	driver, err := blank.Open(t.Context(), r.Database)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, driver.Close()) })
	r.Log = landscape.New(driver, nil)
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
	s.unguarded = nil
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
