// Package system is a whole Waymark in one process, for tests: embedded Temporal, a SQLite landscape, a payload folder
// and a worker, all real, in a temporary folder; and what tests do with the runs of any client.
package system

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/audit"
	"waymark/client"
	"waymark/landscape"
	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/tests/blank"
	"waymark/tests/storages"
	"waymark/worker"
	"waymark/workflows"
)

// System is a running Waymark.
type System struct {
	Folder    string // of documents; state lies beside it
	Database  string // the landscape's file
	Objects   string // the payload store's folder
	Log       *landscape.Log
	Payloads  *payload.Store
	Planner   recompute.Planner
	Client    *client.Client // the members execute its runs
	Temporal  sdk.Client
	Address   string   // of Temporal's server
	Namespace string   // of the runs in Temporal
	Members   []Member // in the order of the options
}

// Member is a process that shares the work.
type Member struct {
	Place activities.Affinity
	Leave func() // takes no more work, and waits until what is in hand is done; may be repeated
}

// Options of a System. The zero value is a good choice.
type Options struct {
	Settings   map[string]any                                                // dynamic configuration of the Temporal server
	Planner    func(recompute.Planner) recompute.Planner                     // makes the Planner of the usual one, for sources and sinks of a test's own
	Members    []worker.Member                                               // processes that share the work, in place of one that works alone
	Attributes map[string]enums.IndexedValueType                             // search attributes that the namespace has; nil for those of a state folder's
	Split      int64                                                         // from which a run is split
	Files      string                                                        // how those call the files of documents that must see them; empty if all do
	Storage    func(testing.TB, *System) (landscape.Driver, payload.Backend) // in place of a SQLite file and a folder; closed by whoever made it
}

// Start starts a System that ends with the test. settings are dynamic configuration of the Temporal server.
func Start(t testing.TB, settings map[string]any) *System {
	t.Helper()
	return StartWith(t, Options{Settings: settings})
}

// StartWith is Start with more to choose.
func StartWith(t testing.TB, o Options) *System {
	t.Helper()
	folder := t.TempDir()
	s := &System{
		Folder: filepath.Join(folder, "documents"), Database: filepath.Join(folder, "landscape.db"),
		Objects: filepath.Join(folder, "payloads"), Planner: worker.Planner{FingerprintKey: []byte("a key for tests")},
	}
	if o.Planner != nil {
		s.Planner = o.Planner(s.Planner)
	}
	require.NoError(t, os.Mkdir(s.Folder, 0o700))
	storage := o.Storage
	if storage == nil {
		storage = OnDisk
	}
	driver, backend := storage(t, s)
	s.Log, s.Payloads = landscape.New(driver, nil), payload.New(backend, payload.Options{})
	s.connect(t, folder, o)
	s.Client = client.New(s.Log, "the landscape of the test", host{s, o.Files})
	return s
}

// On lets a System have its record on the storage with this name: one of tests/storages.
func On(name string) func(testing.TB, *System) (landscape.Driver, payload.Backend) {
	return func(t testing.TB, _ *System) (landscape.Driver, payload.Backend) {
		t.Helper()
		storage := storages.Use(t, name)
		return storage.Landscape(t), storage.Payloads(t)
	}
}

// OnDisk is the storage of a state folder, which ends with the test: what Options.Storage is if it is nil.
func OnDisk(t testing.TB, s *System) (landscape.Driver, payload.Backend) {
	t.Helper()
	driver, err := blank.Open(context.Background(), s.Database)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, driver.Close()) })
	objects, err := fsstore.Create(s.Objects)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, objects.Close()) })
	return driver, objects
}

func (s *System) connect(t testing.TB, folder string, o Options) {
	t.Helper()
	sdkworker.SetBinaryChecksum("test") // or else the SDK reads the whole binary of the tests
	server := serve(t, folder, o.Settings)
	s.Address, s.Namespace = server.Address(), server.addNamespace(t, o.Attributes)
	s.Temporal = server.dial(t, s.options())
	t.Cleanup(s.Temporal.Close)
	if o.Members == nil {
		act := activities.NewAt(activities.Affinity{Split: o.Split}, s.Log, s.Payloads, s.Planner, "test")
		w := worker.New(s.Temporal, workflows.TaskQueue, act)
		require.NoError(t, w.Start())
		t.Cleanup(w.Stop)
	}
	for _, member := range o.Members {
		s.join(t, server, member)
	}
}

// options say where the runs are in Temporal.
func (s *System) options() sdk.Options { return sdk.Options{Namespace: s.Namespace} }

// join lets a process take part in the work. Its identity in Temporal is its own queue.
func (s *System) join(t testing.TB, server server, member worker.Member) {
	t.Helper()
	place, err := member.Affinity()
	require.NoError(t, err)
	o := s.options()
	o.Identity = place.OwnQueue
	c := server.dial(t, o)
	t.Cleanup(c.Close)
	group := member.Group(c, place, activities.NewAt(place, s.Log, s.Payloads, s.Planner, "test"))
	require.NoError(t, group.Start())
	leave := sync.OnceFunc(group.Stop)
	t.Cleanup(leave)
	s.Members = append(s.Members, Member{place, leave})
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

// Begin starts a run of the document, which the members compile.
func (s *System) Begin(t testing.TB, run, document string) *client.Execution {
	t.Helper()
	return Begin(t, s.Client, client.StartRequest{Run: run, Document: &client.Document{File: "pipeline.yaml", Folder: s.Folder, Source: []byte(document)}})
}

// Run runs the document to its end. The error is that of the workflow.
func (s *System) Run(t testing.TB, run, document string) (workflows.RunResult, error) {
	t.Helper()
	return End(t, s.Begin(t, run, document))
}

// Verify requires that everything on record about the run is true, and returns what was not checked, and what else there is to say.
func (s *System) Verify(t testing.TB, run string) (notes []string) {
	t.Helper()
	report, err := audit.New(s.Log.Reader, s.Payloads, s.Planner).Verify(context.Background(), run)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	for _, c := range report.NotChecked {
		notes = append(notes, c.What+" "+c.Name+": "+c.Detail)
	}
	return append(notes, report.Notes...)
}
