package landscape

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"waymark/pipeline"
)

// FinishRun ends a running run with a status that Conclude returns. It must be the one that Conclude returns now, and the
// sweep's counts must balance in the same transaction: else the error is an *ImbalanceError that names node and chunk, and
// the run continues. Repeating it with the same status changes nothing; a run that ended otherwise is refused.
func (l *Log) FinishRun(ctx context.Context, run string, status pipeline.RunStatus, reason string) error {
	progress, err := l.Progress(ctx, run)
	if err != nil {
		return fmt.Errorf("finish run %s: %w", run, err)
	}
	if concluded := progress.conclude(); concluded != status {
		return fmt.Errorf("finish run %s: its rows make it %s, not %s", run, concluded, status)
	}
	return l.moveRun(ctx, run, status, reason, &progress)
}

// StopRun ends a running run before it is complete: failed, interrupted, blocked or cancelled. Resume continues with it.
//
// A run that has the status already stays as it is, with its first reason; one that ended otherwise is refused.
func (l *Log) StopRun(ctx context.Context, run string, status pipeline.RunStatus, reason string) error {
	if !open(status) || status == pipeline.Running {
		return fmt.Errorf("stop run %s: a run that is stopped is not %s", run, status)
	}
	return l.moveRun(ctx, run, status, reason, nil)
}

// moveRun ends a running run. progress is nil if its rows were not counted.
func (l *Log) moveRun(ctx context.Context, run string, to pipeline.RunStatus, reason string, progress *Progress) error {
	return settle("run_seals", func() error {
		old, err := get[RunHead](ctx, l, run)
		switch {
		case err != nil:
			return err
		case old.Status == to:
			return nil
		case old.Status != pipeline.Running:
			return fmt.Errorf("run %s is %s and cannot become %s", run, old.Status, to)
		}
		tx, err := l.release(ctx, run)
		if err != nil {
			return err
		}
		next := old
		next.Status, next.Reason, next.Finished = to, reason, l.now()
		tx.Insert, tx.Move = append(tx.Insert, endEvent(next, progress, next.Finished)), append(tx.Move, Move{From: old, To: next})
		if !open(to) {
			tx.Check = run
		}
		if err := l.endSealed(ctx, &tx, next); err != nil {
			return err
		}
		return l.driver.Commit(ctx, tx)
	})
}

// open reports whether there may be something left to do for a run with this status.
func open(status pipeline.RunStatus) bool {
	return slices.Contains([]pipeline.RunStatus{
		pipeline.Running, pipeline.Failed, pipeline.Interrupted, pipeline.Blocked, pipeline.Cancelled,
	}, status)
}

// CancelRun ends a run for which nobody works any more, or whose work ends with this: it is cancelled, and if final is set,
// nobody may resume it. The action is recorded in the same transaction.
//
// A run that is cancelled already stays as it is, but may become final. A complete run is refused. With final the error is a *NeedsOrderError if one person may
// not: unless the action is recorded, which RecordOrder refuses, or another run has the place of this one.
func (l *Log) CancelRun(ctx context.Context, run string, final bool, actor, why string) error {
	return settle("actions", func() error {
		old, err := get[RunHead](ctx, l, run)
		switch {
		case err != nil:
			return err
		case old.Status == pipeline.Cancelled && (old.Final || !final):
			return nil
		case !open(old.Status):
			return fmt.Errorf("run %s is %s and cannot become %s", run, old.Status, pipeline.Cancelled)
		}
		verb := VerbCancel
		if final {
			verb = VerbCancelFinal
		}
		ordered, err := l.order(ctx, run, verb, actor, why)
		if err == nil && final && ordered != nil {
			err = l.mayEnd(ctx, run)
		}
		if err != nil {
			return err
		}
		tx, err := l.release(ctx, run)
		if err == nil && final {
			err = l.executed(ctx, &tx, nil)
		}
		if err != nil {
			return err
		}
		next := old
		next.Status, next.Final = pipeline.Cancelled, final
		if old.Status != pipeline.Cancelled {
			next.Finished, next.Reason = l.now(), "cancelled by "+actor+": "+cmp.Or(why, "no reason given")
		}
		tx.Insert, tx.Move = append(append(ordered, tx.Insert...), endEvent(next, nil, l.now())), append(tx.Move, Move{From: old, To: next})
		sealing := l.sealAgain
		if old.Status == pipeline.Running {
			sealing = l.endSealed
		}
		if err := sealing(ctx, &tx, next); err != nil {
			return err
		}
		return l.driver.Commit(ctx, tx)
	})
}

// mayEnd returns a *NeedsOrderError if one person may not cancel a run permanently. Who began another run in its place was allowed to.
func (l *Log) mayEnd(ctx context.Context, run string) error {
	linked, err := l.LinkedRuns(ctx, run)
	if err != nil || slices.ContainsFunc(linked, func(other LinkedRun) bool { return other.Link == ForkLink }) {
		return err
	}
	return l.MayOrder(ctx, OrderCancel)
}

// Verbs of what people do to a run. Stored; never rename.
const (
	VerbPause       = "pause"
	VerbContinue    = "continue"
	VerbInterrupt   = "interrupt" // at the process that works for it: Ctrl-C, SIGTERM
	VerbCancel      = "cancel"
	VerbCancelFinal = "cancel_final" // permanently
	VerbResolve     = "resolve"      // a blocked effect
	VerbRetry       = "retry"        // its quarantined records are retried
	VerbWaive       = "waive"        // a policy that did not pass
)

// order returns the record of an action, or nothing if it is the last on record since the run was resumed: then the process that carries
// it out has recorded it.
func (l *Log) order(ctx context.Context, run, verb, actor, why string) ([]Record, error) {
	before, err := l.Actions(ctx, run)
	if err != nil {
		return nil, err
	}
	resumptions, err := l.Resumptions(ctx, run)
	if err != nil {
		return nil, err
	}
	var since Micros
	if n := len(resumptions); n > 0 {
		since = resumptions[n-1].At
	}
	if n := len(before); n > 0 && before[n-1].Verb == verb && before[n-1].Actor == actor && before[n-1].Why == why && before[n-1].At >= since {
		return nil, nil
	}
	return []Record{Action{Run: run, Seq: int64(len(before)), Verb: verb, Actor: actor, Why: why, At: l.now()}}, nil
}

// nextAction returns the record of an action that comes after those on record.
func (l *Log) nextAction(ctx context.Context, run, verb, actor, why string) (Action, error) {
	before, err := l.Actions(ctx, run)
	return Action{Run: run, Seq: int64(len(before)), Verb: verb, Actor: actor, Why: why, At: l.now()}, err
}
