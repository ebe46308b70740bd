// Package resume_test lets runs stop in every way, resumes them again, and looks at what was done a second time. It
// also retries the records that runs refused. It runs the real workflow and the real activities in one process, over a
// SQLite landscape.
package resume_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities/resumepoint"
	"waymark/audit"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/inprocess"
)

// bench runs documents and resumes them again.
type bench struct {
	*inprocess.Record
	t      *testing.T
	redone int // ticks that were recorded and ahead of where the run was resumed
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{Record: inprocess.New(t), t: t}
}

// of returns the bench for what belongs to another test.
func (b *bench) of(t *testing.T) *bench { return &bench{Record: b.Record, t: t} }

// outputs returns the content of every file below the folder of outputs of a run, hidden ones too.
func (b *bench) outputs(run string) map[string]string {
	b.t.Helper()
	root, files := os.DirFS(filepath.Join(b.Folder, run, "out")), map[string]string{}
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, path)
		files[path] = string(content)
		return err
	})
	require.NoError(b.t, err)
	return files
}

func (b *bench) status(run string) pipeline.RunStatus {
	b.t.Helper()
	on, err := b.Log.Run(b.t.Context(), run)
	require.NoError(b.t, err)
	return on.Status
}

// sound requires that everything on record about the run is true: it balances, and everything computed again is the same.
func (b *bench) sound(run string) {
	b.t.Helper()
	findings, err := b.Log.Sweep(b.t.Context(), run, true)
	require.NoError(b.t, err)
	require.Empty(b.t, findings)
	report, err := audit.New(b.Log.Reader, b.Payloads, b.Planner).Verify(b.t.Context(), run)
	require.NoError(b.t, err)
	require.Empty(b.t, report.Problems)
}

// listen takes note of where the run is resumed.
func (b *bench) listen(env *testsuite.TestWorkflowEnvironment) {
	env.SetOnActivityCompletedListener(func(info *activity.Info, result converter.EncodedValue, err error) {
		var state resumepoint.State
		if err == nil && info.ActivityType.Name == "ResumeRun" && result.Get(&state) == nil && state.Redo != nil {
			b.redone += len(state.Redo.Ticks)
		}
	})
}

// part is a chunk's part in a sink.
type part struct {
	sink    string
	ordinal int64
}

// effect is how far a part is.
type effect struct {
	state landscape.EffectState
	fence int64
}

// effects returns how far every part is that has a place on record.
func (b *bench) effects(run string) map[part]effect {
	b.t.Helper()
	found := map[part]effect{}
	query := "select sink, ordinal, state, fence from effects where run_id = ? and kind = 'write' and ordinal is not null"
	b.Query(b.t, run, query, func(rows *sql.Rows) error {
		var p part
		var e effect
		err := rows.Scan(&p.sink, &p.ordinal, &e.state, &e.fence)
		found[p] = e
		return err
	})
	return found
}

// journal writes down what is done to targets, and decides what is not.
type journal struct {
	mu    sync.Mutex
	asked map[inprocess.Kind]map[part]int // all deeds
	done  map[part]bool                   // parts that the target has
	fate  inprocess.Fate                  // nil lets everything be done
}

func newJournal(fate inprocess.Fate) *journal {
	return &journal{asked: map[inprocess.Kind]map[part]int{}, done: map[part]bool{}, fate: fate}
}

// watch lets the processes that follow write this journal.
func (b *bench) watch(j *journal) { b.Fate, b.Done = j.ask, j.note }

func (j *journal) ask(deed inprocess.Deed) (done bool, err error) {
	if deed.Sink != "" {
		j.mu.Lock()
		if j.asked[deed.Kind] == nil {
			j.asked[deed.Kind] = map[part]int{}
		}
		j.asked[deed.Kind][part{deed.Sink, deed.Ordinal}]++
		j.mu.Unlock()
	}
	if j.fate == nil {
		return true, nil
	}
	return j.fate(deed)
}

func (j *journal) note(deed inprocess.Deed) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if deed.Kind == inprocess.Write {
		j.done[part{deed.Sink, deed.Ordinal}] = true
	}
}

// touched returns the kinds of what was done to a sink.
func (j *journal) touched(sink string) []inprocess.Kind {
	var kinds []inprocess.Kind
	for kind, asked := range j.asked {
		for about := range asked {
			if about.sink == sink && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

// requireType requires that an error that no retry cures ended the workflow.
func requireType(t *testing.T, err error, want string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, kind(err), "%v", err)
}

// kind returns the type of an error that no retry cures; empty if it has none.
func kind(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Type()
	}
	return ""
}

// numbered returns a CSV file with so many rows.
func numbered(rows int) string {
	text := "id,n\n"
	for i := range rows {
		text += fmt.Sprintf("r%d,%d\n", i, i*7%10)
	}
	return text
}
