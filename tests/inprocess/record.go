// Package inprocess runs documents by the real workflow and the real activities in an environment that Temporal has for
// tests, without a server, over a SQLite landscape that keeps the record of many runs, and reads the record back by SQL.
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
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/worker"
	"waymark/workflows"
)

// Record is a database that keeps the record of many runs, and a folder with one folder for the files of each. It is not
// safe for concurrent use.
type Record struct {
	Folder   string
	Log      *landscape.Log
	Planner  activities.Planner // compiles the documents of the runs that follow
	Payloads *payload.Store
	Fate     Fate       // decides about what the processes that follow do; nil lets everything be done
	Done     func(Deed) // is told of what they did, also if they do not learn of it; may be nil

	Continued []workflows.RunInput // of the executions that others continued as
	Result    workflows.RunResult  // of the latest that came to its end

	store    *sqlitestore.Store
	objects  *memstore.Store
	now      time.Time // of the workflows
	db       *sql.DB
	prepared map[string]*sql.Stmt
}

// New makes an empty record that ends with the test, in memory if the machine has a file system there: what is durable is
// tested elsewhere.
func New(t testing.TB) *Record {
	t.Helper()
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		parent = ""
	}
	folder, err := os.MkdirTemp(parent, "waymark-inprocess-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	path := filepath.Join(folder, "landscape.db")
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{Create: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	r := &Record{
		Folder: folder, Log: landscape.New(store, nil), Planner: worker.Planner{},
		store: store, now: time.Now(), db: db, prepared: map[string]*sql.Stmt{},
	}
	r.EmptyPayloads()
	return r
}

// EmptyPayloads empties the payload store: the runs that follow do not find what those before stored.
func (r *Record) EmptyPayloads() {
	r.objects = new(memstore.Store)
	r.Payloads = payload.New(r.objects, payload.Options{})
}

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

// Query calls scan with every row of the result; the query's parameter is the run. Statements are prepared once: reading one
// with several views takes longer than answering it for a short run.
func (r *Record) Query(t testing.TB, run, query string, scan func(*sql.Rows) error) {
	t.Helper()
	if r.prepared[query] == nil {
		stmt, err := r.db.Prepare(query) //nolint:sqlclosecheck // the next run asks the same, and db closes it
		require.NoError(t, err)
		r.prepared[query] = stmt
	}
	rows, err := r.prepared[query].QueryContext(t.Context(), run)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		require.NoError(t, scan(rows))
	}
	require.NoError(t, rows.Err())
}
