// Package system is a whole Waymark in one process, for tests: embedded Temporal, a SQLite landscape, a payload folder and a
// worker, all real, in a temporary folder.
package system

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/audit"
	"waymark/embedded"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/worker"
	"waymark/workflows"
)

// System is a running Waymark.
type System struct {
	Folder   string // of documents; state lies beside it
	Database string // the landscape's file
	Objects  string // the payload store's folder
	Log      *landscape.Log
	Payloads *payload.Store
	Planner  activities.Planner
	Client   client.Client
}

// Start starts a System that ends with the test. settings are dynamic configuration of the Temporal server.
func Start(t testing.TB, settings map[string]any) *System {
	t.Helper()
	return StartWith(t, settings, func(p activities.Planner) activities.Planner { return p })
}

// StartWith is Start with a Planner made of the usual one, for tests that need sources or sinks of their own.
func StartWith(t testing.TB, settings map[string]any, planner func(activities.Planner) activities.Planner) *System {
	t.Helper()
	ctx, folder := context.Background(), t.TempDir()
	s := &System{
		Folder: filepath.Join(folder, "documents"), Database: filepath.Join(folder, "landscape.db"),
		Objects: filepath.Join(folder, "payloads"), Planner: planner(worker.Planner{FingerprintKey: []byte("a key for tests")}),
	}
	require.NoError(t, os.Mkdir(s.Folder, 0o700))
	driver, err := sqlitestore.Open(ctx, s.Database, sqlitestore.Options{Create: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, driver.Close()) })
	objects, err := fsstore.Create(s.Objects)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, objects.Close()) })
	s.Log, s.Payloads = landscape.New(driver, nil), payload.New(objects, payload.Options{})
	s.connect(t, filepath.Join(folder, "temporal.db"), settings)
	return s
}

func (s *System) connect(t testing.TB, database string, settings map[string]any) {
	t.Helper()
	ctx := context.Background()
	server, err := embedded.Start(ctx, embedded.Options{DatabasePath: database, Settings: settings})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	s.Client, err = server.Client(ctx, client.Options{})
	require.NoError(t, err)
	t.Cleanup(s.Client.Close)
	w := worker.New(s.Client, workflows.TaskQueue, activities.New(s.Log, s.Payloads, s.Planner, "test"))
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
}

// Write writes files, by name, into the folder of documents.
func (s *System) Write(t testing.TB, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(s.Folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(files[name]), 0o600))
	}
}

// Read reads a file of the folder of documents.
func (s *System) Read(t testing.TB, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.Folder, name))
	require.NoError(t, err)
	return string(content)
}

// Begin starts a run of the document.
func (s *System) Begin(t testing.TB, run, document string) client.WorkflowRun {
	t.Helper()
	ctx := context.Background()
	digest, err := s.Payloads.Put(ctx, []byte(document))
	require.NoError(t, err)
	in := workflows.RunInput{OpenInput: activities.OpenInput{
		Run: run, Document: string(digest), File: "pipeline.yaml", Folder: s.Folder, Actor: "tester", Trigger: "test",
	}}
	options := client.StartWorkflowOptions{ID: workflows.WorkflowID(run), TaskQueue: workflows.TaskQueue}
	handle, err := s.Client.ExecuteWorkflow(ctx, options, workflows.RunPipelineName, in)
	require.NoError(t, err)
	return handle
}

// Run runs the document to its end. The error is that of the workflow.
func (s *System) Run(t testing.TB, run, document string) (workflows.RunResult, error) {
	t.Helper()
	var result workflows.RunResult
	err := s.Begin(t, run, document).Get(context.Background(), &result)
	return result, err
}

// Verify requires that everything on record about the run is true.
func (s *System) Verify(t testing.TB, run string) {
	t.Helper()
	report, err := audit.New(s.Log, s.Payloads, s.Planner).Verify(context.Background(), run)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
}
