package triggers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"waymark/internal/temporal/cluster"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// outcome is what became of a run that took what arrived.
type outcome int

const (
	going   outcome = iota // somebody works for it, or is about to
	stopped                // it can be resumed: what it took is its own
	done
	over // it did not begin, or cannot be resumed: what it took may be taken again
)

// settle puts on record what became of the runs that took what arrived, begins those that nobody has begun, and returns how many go on.
func (w *watched) settle(ctx context.Context) (open int, err error) {
	if !w.has.Taken {
		clear(w.begun)
		return 0, nil
	}
	taken, err := w.Log.ArrivalsInState(ctx, w.row.ID, landscape.ArrivalTaken, 0)
	if err != nil {
		return 0, err
	}
	w.has.Taken = taken != nil
	outcomes := map[string]outcome{}
	var changes []landscape.ArrivalChange
	for _, from := range taken {
		is, known := outcomes[from.Run]
		if !known {
			if is, err = w.outcome(ctx, from.Run); err != nil {
				return 0, err
			}
			if outcomes[from.Run] = is; is == going {
				open++
			}
		}
		to := from
		switch is {
		case done:
			to.State = landscape.ArrivalDone
		case over:
			if to, err = w.returned(ctx, from); err != nil {
				return 0, err
			}
		default:
			continue
		}
		changes = append(changes, landscape.ArrivalChange{From: &from, To: to})
	}
	for run := range w.begun {
		if is, known := outcomes[run]; !known || is != going {
			delete(w.begun, run)
		}
	}
	if changes == nil {
		return open, nil
	}
	return open, w.record(ctx, w.at, changes)
}

// returned is what becomes of an arrival whose run is given up: it waits for another one, unless the file has changed since. Whether it has is looked at before anything is taken.
func (w *watched) returned(ctx context.Context, from landscape.Arrival) (landscape.Arrival, error) {
	last, err := w.Log.LastArrival(ctx, from.Trigger, from.Item)
	to := from
	to.State, to.Run, to.Reason = landscape.ArrivalReady, "", fmt.Sprintf("run %s was cancelled permanently", from.Run)
	if last.Revision > from.Revision {
		to.State, to.Reason = landscape.ArrivalGone, to.Reason+", and the file has changed since"
	}
	w.found.next = time.Time{}
	return to, err
}

// outcome finds out what became of a run. One of which nothing is recorded but its start is begun, unless Temporal
// knows it.
func (w *watched) outcome(ctx context.Context, id string) (outcome, error) {
	run, err := w.Log.Run(ctx, id)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return w.outcomeOfStart(ctx, id)
	case err != nil:
		return going, err
	case run.Status.Complete():
		return done, nil
	case run.Status == pipeline.Running:
		return going, nil
	case run.Final:
		return over, nil
	}
	return stopped, nil
}

// outcomeOfStart is the outcome of a run that is not recorded.
func (w *watched) outcomeOfStart(ctx context.Context, run string) (outcome, error) {
	start, err := w.Log.LastStart(ctx, run)
	switch {
	case err != nil:
		return going, err
	case start.State == landscape.StartCancelled:
		return over, nil
	case start.Decided != 0:
		return going, w.again(ctx, start)
	case time.Since(w.begun[run]) < patience:
		return going, nil
	}
	_, known, err := cluster.Latest(ctx, w.Client, workflows.WorkflowID(run))
	if err == nil && known {
		w.begun[run] = time.Now()
	} else if err == nil {
		err = w.begin(ctx, start)
	}
	return going, err
}

// patience is how long a run that was begun is not looked for in Temporal.
const patience = 30 * time.Second

// tried is how often a run was begun again whose start was refused.
type tried struct {
	next  time.Time
	pause time.Duration
}

const (
	firstPause = 5 * time.Second
	maxPause   = 5 * time.Minute
)

// again begins a run whose start was refused, or gave way to others: what refused it may have been mended. It does so less and less often.
func (w *watched) again(ctx context.Context, start landscape.Start) error {
	try := w.tries[start.Run]
	if time.Now().Before(try.next) {
		return nil
	}
	first := try.pause == 0
	try.pause = min(max(2*try.pause, firstPause), maxPause)
	try.next = time.Now().Add(try.pause)
	w.tries[start.Run] = try
	if w.row.Removed() || first && lately(start.Decided, firstPause) {
		return nil
	}
	w.Logger.Warn("the run of what arrived is begun again", "trigger", w.row.ID, "run", start.Run, "refused", start.Reason)
	return w.begin(ctx, start)
}
