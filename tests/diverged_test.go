package tests

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"waymark/activities/recompute"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
	"waymark/tests/fixtures"
	"waymark/tests/sample"
	"waymark/tests/system"
	"waymark/workflows"
	"waymark/workflows/recovery"
)

// diverging has everything that a history tells of: chunks, folds, rows of barriers, parts, outputs.
const diverging = `
name: diverging
chunk: {rows: 20}
sources:
  first: {csv: {path: first.csv}, schema: {fields: {id: int, kind: string}}}
steps:
  - {name: both, fork: [slow, quick]}
  - {name: sums, from: slow, aggregate: {group_by: [kind], compute: {n: count()}}, trigger: {rows: 40}}
sinks:
  totals: {jsonl: {path: out/totals.jsonl, overwrite: true}, from: sums}
  rows: {csv: {path: out/rows.csv, overwrite: true}, from: quick}
`

// compared returns what recovery.Compare says of a history that is not encrypted.
func compared(t *testing.T, c client.Client, log *landscape.Reader, run string) error {
	t.Helper()
	return recovery.Compare(t.Context(), c, converter.GetDefaultDataConverter(), log, run)
}

// divergences make the record older than the history, or other, and say what is told then.
var divergences = []struct{ name, change, says string }{
	{"no run", "delete from runs", "the run was begun, and it is not recorded"},
	{"a chunk less", "delete from chunks where source = 'first' and chunk = 3", "chunk 3 of first was read, and it is not recorded"},
	{"another end of a chunk", `update chunks set cursor = json_set(cursor, '$.offset', 7) where source = 'first' and chunk = 2`, "chunk 2 of first ended at byte "},
	{"no end of the source", "delete from source_ends", "source first was read to its end, and its end is not recorded"},
	{"a passage less", "delete from passages where source = 'first' and chunk = 4", "chunk 4 of first went through the steps, and that is not recorded"},
	{"a passage of a barrier's chunk less", "delete from passages where source = 'sums' and chunk = 0", "chunk 0 of sums went through the steps, and that is not recorded"},
	{"an effect less", "delete from effects where source = 'first' and chunk = 1", "chunk 1 of first had 20 rows for sink rows in "},
	{"a part that is not confirmed", "update effects set state = 'in_flight', receipt = null where source = 'first' and chunk = 1", "chunk 1 of first was written to sink rows as part 1 at byte "},
	{"a part at another place", "update effects set byte_offset = 1 where source = 'first' and chunk = 1", "chunk 1 of first was written to sink rows as part 1 at byte "},
	{"a fold less", "delete from folds where fold >= 4", "barrier sums took 5 steps, and 4 are recorded"},
	{"an output less", "delete from artifacts where sink = 'rows'", "the output of sink rows was published, and that is not recorded"},
}

// TestOlderRecordIsNoticed changes copies of a record, holds them against the history of the run's workflow,
// and requires that the first contradiction is told and nothing is written. However much of the history is there, it does not
// contradict a record that knows more.
func TestOlderRecordIsNoticed(t *testing.T) {
	t.Parallel()
	s := system.Start(t, nil)
	s.Write(t, map[string]string{"first.csv": fixtures.Numbered(0, 130)})
	_, err := s.Run(t, "diverges", diverging)
	require.NoError(t, err)
	require.NoError(t, compared(t, s.Temporal, s.Log.Reader, "diverges"))
	events := system.Events(t, s.Temporal, workflows.WorkflowID("diverges"), "")
	for _, d := range sample.Of(4, divergences) {
		t.Run(d.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "landscape.db")
			change(t, s.Database, path, d.change)
			store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, store.Close()) }()
			before := snapshot(t, path)
			err = compared(t, s.Temporal, landscape.NewReader(store), "diverges")
			var diverged *recovery.DivergedError
			require.ErrorAs(t, err, &diverged)
			require.Equal(t, "diverges", diverged.Run)
			require.Contains(t, diverged.Message, d.says)
			require.Contains(t, err.Error(), fmt.Sprintf("STATE_DIVERGED: run diverges, event %d of its workflow: ", diverged.Event))
			require.Equal(t, before, snapshot(t, path))
		})
	}
	for length := 0; length <= len(events); length += sample.Step(9) {
		require.NoError(t, compared(t, told{events: events[:length]}, s.Log.Reader, "diverges"), "the first %d events", length)
	}
	gone := told{err: serviceerror.NewNotFound("the retention is over")}
	require.NoError(t, compared(t, gone, s.Log.Reader, "diverges"), "a history that is gone says nothing")
	require.ErrorContains(t, compared(t, told{err: serviceerror.NewUnavailable("down")}, s.Log.Reader, "diverges"), "down")
}

// TestInitialStateIsCompared compares runs that went on in many executions: only the latest one's
// history is asked, and what it began with is part of it.
func TestInitialStateIsCompared(t *testing.T) {
	sample.Rarely(t)
	s := system.Start(t, map[string]any{"limit.historyCount.suggestContinueAsNew": 30})
	s.Write(t, map[string]string{"first.csv": fixtures.Numbered(0, 240)})
	_, err := s.Run(t, "long", diverging)
	require.NoError(t, err)
	require.NoError(t, compared(t, s.Temporal, s.Log.Reader, "long"))
	events := system.Events(t, s.Temporal, workflows.WorkflowID("long"), "")
	for says, statement := range map[string]string{
		"was read, and it is not recorded":      "delete from chunks where source = 'first' and chunk > 0",
		"steps, and 1 are recorded":             "delete from folds where fold > 0",
		"but the recorded chunk ends at byte 7": `update chunks set cursor = json_set(cursor, '$.offset', 7) where source = 'first'`,
	} {
		path := filepath.Join(t.TempDir(), "landscape.db")
		change(t, s.Database, path, statement)
		store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
		require.NoError(t, err)
		var diverged *recovery.DivergedError
		require.ErrorAs(t, compared(t, told{events: events[:1]}, landscape.NewReader(store), "long"), &diverged)
		require.Contains(t, diverged.Message, says)
		require.EqualValues(t, 1, diverged.Event)
		require.NoError(t, store.Close())
	}
}

// TestARunWhoseWorkflowIsGoneIsResumed terminates the workflow of a run in the middle of its rows. The record suffices to go on.
func TestARunWhoseWorkflowIsGoneIsResumed(t *testing.T) {
	mayEnd := make(chan struct{})
	s := system.StartWith(t, system.Options{Planner: func(p recompute.Planner) recompute.Planner { return idlePlanner{p, mayEnd} }})
	s.Write(t, map[string]string{"first.csv": fixtures.Numbered(0, 130)})
	first := s.Begin(t, "gone", diverging)
	require.Eventually(t, func() bool {
		progress, err := s.Log.Progress(t.Context(), "gone")
		return err == nil && progress.Finalized >= 7
	}, patience, 20*time.Millisecond)
	require.NoError(t, s.Temporal.TerminateWorkflow(t.Context(), first.Workflow, "", "a test"))
	require.NoError(t, compared(t, s.Temporal, s.Log.Reader, "gone"))
	close(mayEnd)
	result, err := system.End(t, system.Resume(t, s.Client, "gone", "its workflow is gone"))
	require.NoError(t, err)
	require.Equal(t, []any{"gone", pipeline.Completed, int64(130)}, []any{result.Run, result.Status, result.Rows})
	require.EqualValues(t, 130, result.Outputs[0].Rows)
	require.Equal(t, 1+130, strings.Count(s.Read(t, "out/rows.csv"), "\n"))
	s.Verify(t, "gone")
}

// change makes a copy of a landscape in which something else is recorded. What guards the record is taken away first.
func change(t *testing.T, from, to, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", from)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "vacuum into ?", to)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	db, err = sql.Open("sqlite", to)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, trigger := range triggers(t, db) {
		_, err = db.ExecContext(t.Context(), "drop trigger "+trigger)
		require.NoError(t, err)
	}
	result, err := db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
	changed, err := result.RowsAffected()
	require.NoError(t, err)
	require.Positive(t, changed)
}

func triggers(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "select name from sqlite_master where type = 'trigger' order by name")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	var names []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	return names
}

// snapshot returns the bytes of a landscape and of its log.
func snapshot(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	if log, err := os.ReadFile(path + "-wal"); err == nil {
		content = append(content, log...)
	}
	return string(content)
}

// told is a client that tells these events of every workflow, then the error if there is one.
type told struct {
	client.Client
	events []*history.HistoryEvent
	err    error
}

func (c told) GetWorkflowHistory(context.Context, string, string, bool, enums.HistoryEventFilterType) client.HistoryEventIterator {
	return &c
}

func (c *told) HasNext() bool { return len(c.events) > 0 || c.err != nil }

func (c *told) Next() (*history.HistoryEvent, error) {
	if len(c.events) == 0 {
		return nil, c.err
	}
	event := c.events[0]
	c.events = c.events[1:]
	return event, nil
}
