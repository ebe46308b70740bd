package landscape

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"waymark/pipeline"
)

// RunStart is the place of a run among those that started before and after it.
type RunStart struct {
	Started Micros `db:"started_us,key"`
	ID      string `db:"run_id,key"`
}

// Table returns runs.
func (RunStart) Table() string { return "runs" }

// Start returns the place of the run.
func (r RunHead) Start() RunStart { return RunStart{r.Started, r.ID} }

// startedRun is a RunHead by its start.
type startedRun struct {
	At Micros `db:"started_us,key"`
	RunHead
}

// RecentRuns returns runs, the last to start first, and of those that started at the same time the greatest id first; nil if there is
// none. It begins after the run at the place after, or with the last if after is nil, and returns at most limit runs, or all if that
// is 0.
func (r *Reader) RecentRuns(ctx context.Context, after *RunStart, limit int) ([]RunHead, error) {
	q := Query{Descending: true, Limit: limit}
	if after != nil {
		q.After = []any{int64(after.Started), after.ID}
	}
	var heads []RunHead
	err := r.from.Read(ctx, startedRun{}, q, func(record Record) bool {
		heads = append(heads, record.(startedRun).RunHead)
		return true
	})
	return heads, err
}

// runWithStatus is a RunHead by its status.
type runWithStatus struct {
	Is pipeline.RunStatus `db:"status,key"`
	RunHead
}

// RunsWithStatus returns runs that have a status, by id; nil if there is none. It begins after the run with the id after, or with the
// first if that is empty, and returns at most limit runs, or all if that is 0.
func (r *Reader) RunsWithStatus(ctx context.Context, status pipeline.RunStatus, after string, limit int) ([]RunHead, error) {
	q := Query{Prefix: []any{string(status)}, Limit: limit}
	if after != "" {
		q.After = []any{after}
	}
	var heads []RunHead
	err := r.from.Read(ctx, runWithStatus{}, q, func(record Record) bool {
		heads = append(heads, record.(runWithStatus).RunHead)
		return true
	})
	return heads, err
}

// inFlight is the id of a run by its status.
type inFlight struct {
	Is  pipeline.RunStatus `db:"status,key"`
	Run string             `db:"run_id,key"`
}

// Table returns runs.
func (inFlight) Table() string { return Run{}.Table() }

// InFlight returns the ids of the runs that have not ended: those that run, and those of which a start is yet to be decided. It is empty, not nil, if there is none.
func (r *Reader) InFlight(ctx context.Context) (map[string]bool, error) {
	runs := map[string]bool{}
	for _, state := range []StartState{StartAccepted, StartWaiting} { // before the runs: what begins meanwhile is there
		if err := each(ctx, r.from, []any{string(state)}, func(s openStart) bool { runs[s.Run] = true; return true }); err != nil {
			return nil, err
		}
	}
	err := each(ctx, r.from, []any{string(pipeline.Running)}, func(i inFlight) bool { runs[i.Run] = true; return true })
	return runs, err
}

// CountRuns returns how many runs there are.
func (r *Reader) CountRuns(ctx context.Context) (n int, err error) {
	err = each(ctx, r.from, nil, func(RunStart) bool { n++; return true })
	return n, err
}

// FindRun returns the run with this id, or the only run whose id begins with it. The error wraps ErrNotFound if there is
// none, and is an *AmbiguousError, which lists them, if there are several.
func (r *Reader) FindRun(ctx context.Context, idOrPrefix string) (Run, error) {
	run, err := r.Run(ctx, idOrPrefix)
	if idOrPrefix == "" || !errors.Is(err, ErrNotFound) {
		return run, err
	}
	matches, err := r.RunsWith(ctx, idOrPrefix)
	switch {
	case err != nil:
		return Run{}, err
	case len(matches) == 0:
		return Run{}, fmt.Errorf("run %q: %w", idOrPrefix, ErrNotFound)
	case len(matches) == 1:
		return get[Run](ctx, r.from, matches[0].ID)
	}
	return Run{}, AmbiguousRuns(idOrPrefix, matches)
}

// AmbiguousRuns returns the *AmbiguousError that says which of several runs, in the order of their ids, have ids that begin with a prefix.
func AmbiguousRuns(prefix string, runs []RunHead) error {
	return ambiguous(prefix, runs, func(head RunHead) string { return head.ID })
}

// ambiguous says which runs have ids that begin with a prefix.
func ambiguous[T any](prefix string, matches []T, id func(T) string) error {
	const most = 5
	var shown []string
	for _, match := range matches[:min(most, len(matches))] {
		shown = append(shown, id(match))
	}
	more := ""
	if len(matches) > most {
		more = fmt.Sprintf(" and %d more", len(matches)-most)
	}
	return &AmbiguousError{fmt.Sprintf("run %q is the beginning of %s%s: give more of the id", prefix, strings.Join(shown, ", "), more)}
}

// AmbiguousError says that the ids of several runs begin like that.
type AmbiguousError struct{ message string }

// Error names the first of them.
func (e *AmbiguousError) Error() string { return e.message }

// RunsWith returns the runs whose ids begin with a prefix, by id; nil if there is none.
func (r *Reader) RunsWith(ctx context.Context, prefix string) ([]RunHead, error) {
	found, err := Select[RunHead](ctx, r.from, prefix) // which has the prefix and nothing else
	if err != nil {
		return nil, err
	}
	err = r.from.Read(ctx, RunHead{}, Query{After: []any{prefix}}, func(record Record) bool {
		head := record.(RunHead)
		if strings.HasPrefix(head.ID, prefix) {
			found = append(found, head)
			return true
		}
		return false // what begins with the prefix follows it
	})
	return found, err
}
