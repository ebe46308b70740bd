// Package inprocess runs documents by the real workflow and the real activities in an environment that Temporal has for
// tests, without a server, over a landscape that keeps the record of many runs, and reads the record back by SQL.
package inprocess

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/landscape"
	"waymark/payload"
	"waymark/tests/storages"
	"waymark/worker"
	"waymark/workflows"
)

// Record is a database that keeps the record of many runs, and a folder with one folder for the files of each. It is not
// safe for concurrent use.
type Record struct {
	Folder   string
	Database string // the landscape's file, if it is SQLite's
	Log      *landscape.Log
	Planner  recompute.Planner // compiles the documents of the runs that follow
	Payloads *payload.Store
	Fate     Fate       // decides about what the processes that follow do; nil lets everything be done
	Done     func(Deed) // is told of what they did, also if they do not learn of it; may be nil
	Split    int64      // bytes of its sources' files from which a run is split; 0: none is

	Continued []workflows.RunInput // of the executions that others continued as
	Result    workflows.RunResult  // of the latest that came to its end

	t       testing.TB
	storage *storages.Storage
	store   *storages.Landscape
	log     func(landscape.Driver) *landscape.Log // of a process
	objects payload.Backend
	now     time.Time // of the workflows
}

// New makes an empty record that ends with the test, in memory if the machine has a file system there: what is durable is
// tested elsewhere.
func New(t testing.TB) *Record {
	t.Helper()
	return NewOn(t, storages.Use(t, storages.Memory))
}

// NewOn makes an empty record on a storage. It ends with the test.
func NewOn(t testing.TB, storage *storages.Storage) *Record {
	t.Helper()
	store := storage.Landscape(t)
	r := &Record{
		Folder: storage.Folder(t), Database: store.File, Log: landscape.New(store, nil), Planner: worker.Planner{},
		t: t, storage: storage, store: store, log: plain, now: time.Now(),
	}
	r.EmptyPayloads()
	return r
}

// plain is the log of a process that signs nothing, by the clock of this machine.
func plain(driver landscape.Driver) *landscape.Log { return landscape.New(driver, nil) }

// Over is a Record of runs in a landscape and a payload store that others made and close. log makes the log of each
// process.
func Over(
	t testing.TB, folder string, driver landscape.Driver, objects payload.Backend, log func(landscape.Driver) *landscape.Log,
) *Record {
	t.Helper()
	return &Record{
		Folder: folder, Log: log(driver), Planner: worker.Planner{}, Payloads: payload.New(objects, payload.Options{}),
		t: t, store: &storages.Landscape{Driver: driver}, log: log, objects: objects, now: time.Now(),
	}
}

// EmptyPayloads empties the payload store: the runs that follow do not find what those before stored.
func (r *Record) EmptyPayloads() {
	r.objects = r.storage.Payloads(r.t)
	r.Payloads = payload.New(r.objects, payload.Options{})
}

// Driver returns the landscape's, which can be asked more than Log: for a test of what only some drivers answer.
func (r *Record) Driver() landscape.Driver { return r.store.Driver }

// Objects returns where the payloads are stored: for a test that damages them, or counts what is read.
func (r *Record) Objects() payload.Backend { return r.objects }

// patience is how long one run may take on a machine that does other things as well.
const patience = 2 * time.Minute

// Run writes the files into the run's folder, Folder/id, and runs the document there to its end. listen, if not nil, gets
// the environment first. The error is that of the workflow.
func (r *Record) Run(t testing.TB, id, document string, files map[string]string, listen func(*testsuite.TestWorkflowEnvironment)) error {
	t.Helper()
	folder := filepath.Join(r.Folder, id)
	require.NoError(t, os.Mkdir(folder, 0o700))
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	return r.Start(t, document, activities.OpenInput{Run: id, File: "pipeline.yaml", Folder: folder}, listen)
}

// Start runs the document, with all else as in says, to its end.
func (r *Record) Start(t testing.TB, document string, in activities.OpenInput, listen func(*testsuite.TestWorkflowEnvironment)) error {
	t.Helper()
	digest, err := r.Payloads.Put(context.Background(), []byte(document))
	require.NoError(t, err)
	in.Document = string(digest)
	return r.execute(t, workflows.RunInput{OpenInput: in}, listen)
}

// Query calls scan with every row of the result; each ? of the query is the run.
func (r *Record) Query(t testing.TB, run, query string, scan func(*sql.Rows) error) {
	t.Helper()
	r.store.Query(t, run, query, scan)
}

// RequireViews does what storages.Landscape.RequireViews says.
func (r *Record) RequireViews(t testing.TB, run string) {
	t.Helper()
	r.store.RequireViews(t, run)
}

// Dump returns everything that is recorded about a run, as storages.Dump does.
func (r *Record) Dump(t testing.TB, run string) map[string][]string {
	t.Helper()
	return storages.Dump(t, r.store, run)
}

// Work returns what is recorded of the work of a run, as storages.Work does.
func (r *Record) Work(t testing.TB, run string) map[string][]string {
	t.Helper()
	return storages.Work(t, r.store, run)
}
