package merges_test

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/worker"
	"waymark/workflows"
)

// record is a database that keeps the record of many runs, and a folder for their files.
type record struct {
	folder   string
	db       *sql.DB
	log      *landscape.Log
	payloads *payload.Store
	planner  activities.Planner
	prepared map[string]*sql.Stmt // of those that are asked of every run
}

// newRecord makes an empty record, in memory if the machine has a file system there: what is durable is tested elsewhere.
func newRecord(t *testing.T) *record {
	t.Helper()
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		parent = ""
	}
	folder, err := os.MkdirTemp(parent, "waymark-merges-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	path := filepath.Join(folder, "landscape.db")
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{Create: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	r := &record{folder, db, landscape.New(store, nil), payload.New(new(memstore.Store), payload.Options{}), worker.Planner{}, map[string]*sql.Stmt{}}
	for _, query := range []string{parentsQuery, tokensQuery, decisionsQuery, sinksQuery} {
		r.prepared[query] = prepare(t, db, query)
	}
	return r
}

// prepare returns a statement that lives as long as the test.
func prepare(t *testing.T, db *sql.DB, query string) *sql.Stmt {
	t.Helper()
	stmt, err := db.PrepareContext(t.Context(), query)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stmt.Close()) })
	return stmt
}

// run runs the document as a workflow, in an environment that Temporal has for tests.
func (r *record) run(t *testing.T, id, document string, files map[string]string, listen func(*testsuite.TestWorkflowEnvironment)) {
	t.Helper()
	require.NoError(t, os.Mkdir(filepath.Join(r.folder, id), 0o700))
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(r.folder, id, name), []byte(content), 0o600))
	}
	digest, err := r.payloads.Put(context.Background(), []byte(document))
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(2 * time.Minute) // of one run, on a machine that does other things as well
	env.RegisterWorkflow(workflows.RunPipeline)
	env.RegisterActivity(activities.New(r.log, r.payloads, r.planner, "test"))
	if listen != nil {
		listen(env)
	}
	env.ExecuteWorkflow(workflows.RunPipeline, workflows.RunInput{OpenInput: activities.OpenInput{
		Run: id, Document: string(digest), File: "merges.yaml", Folder: filepath.Join(r.folder, id),
	}})
	require.NoError(t, env.GetWorkflowError(), document)
}

// query calls scan with every row of the result; the query's parameter is the run.
func (r *record) query(t *testing.T, run, query string, scan func(*sql.Rows) error) {
	t.Helper()
	if r.prepared[query] == nil {
		r.prepared[query] = prepare(t, r.db, query)
		defer delete(r.prepared, query) // it ends with the test that asks, which the record may outlive
	}
	rows, err := r.prepared[query].QueryContext(t.Context(), run)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		require.NoError(t, scan(rows))
	}
	require.NoError(t, rows.Err())
}
