package landscape

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/pipeline"
)

// FinishRun ends a running run with a status that Conclude returns. It must be the one that Conclude returns now, and the
// sweep's counts must balance in the same transaction: else the error is an *ImbalanceError that names node and chunk, and
// the run goes on. Repeating it with the same status changes nothing; a run that ended otherwise is refused.
func (l *Log) FinishRun(ctx context.Context, run string, status pipeline.RunStatus, reason string) error {
	concluded, err := l.Conclude(ctx, run)
	if err != nil {
		return fmt.Errorf("finish run %s: %w", run, err)
	}
	if concluded != status {
		return fmt.Errorf("finish run %s: its rows make it %s, not %s", run, concluded, status)
	}
	return l.moveRun(ctx, run, status, reason)
}

// StopRun ends a running run before it is complete: failed, interrupted, blocked or cancelled. TakeUp goes on with it.
//
// A run that has the status already stays as it is, with its first reason; one that ended otherwise is refused.
func (l *Log) StopRun(ctx context.Context, run string, status pipeline.RunStatus, reason string) error {
	if !open(status) || status == pipeline.Running {
		return fmt.Errorf("stop run %s: a run that is stopped is not %s", run, status)
	}
	return l.moveRun(ctx, run, status, reason)
}

// moveRun ends a running run.
func (l *Log) moveRun(ctx context.Context, run string, to pipeline.RunStatus, reason string) error {
	return settle("", func() error {
		old, err := get[RunHead](ctx, l.driver, run)
		switch {
		case err != nil:
			return err
		case old.Status == to:
			return nil
		case old.Status != pipeline.Running:
			return fmt.Errorf("run %s is %s and cannot become %s", run, old.Status, to)
		}
		next := old
		next.Status, next.Reason, next.Finished = to, reason, l.now()
		batch := Batch{Move: []Move{{From: old, To: next}}}
		if !open(to) {
			batch.Check = run
		}
		return l.driver.Commit(ctx, batch)
	})
}

// open reports whether there may be something left to do for a run with this status.
func open(status pipeline.RunStatus) bool {
	return slices.Contains([]pipeline.RunStatus{
		pipeline.Running, pipeline.Failed, pipeline.Interrupted, pipeline.Blocked, pipeline.Cancelled,
	}, status)
}

// CancelRun ends a run for which nobody works any more, or whose work ends with this: it is cancelled, and if final is set,
// nobody may take it up again. The action is recorded in the same transaction.
//
// A run that is cancelled already stays as it is, but may become final. A complete run is refused.
func (l *Log) CancelRun(ctx context.Context, run string, final bool, actor, why string) error {
	return settle("actions", func() error {
		old, err := get[RunHead](ctx, l.driver, run)
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
		if err != nil {
			return err
		}
		next := old
		next.Status, next.Final = pipeline.Cancelled, final
		if old.Status != pipeline.Cancelled {
			next.Finished, next.Reason = l.now(), "cancelled by "+actor
		}
		return l.driver.Commit(ctx, Batch{Insert: ordered, Move: []Move{{From: old, To: next}}})
	})
}

// Verbs of the actions of somebody who cancels a run. Stored; never rename.
const (
	VerbCancel      = "cancel"
	VerbCancelFinal = "cancel_final" // for good
)

// order returns the record of an action, or nothing if it is the last on record since the run was taken up: then whoever carries it
// out has recorded it.
func (l *Log) order(ctx context.Context, run, verb, actor, why string) ([]Record, error) {
	before, err := l.Actions(ctx, run)
	if err != nil {
		return nil, err
	}
	takenUp, err := l.Resumptions(ctx, run)
	if err != nil {
		return nil, err
	}
	var since Micros
	if n := len(takenUp); n > 0 {
		since = takenUp[n-1].At
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

// NotResumableError says why a run cannot be taken up again. Nothing was stored. No retry cures it.
type NotResumableError struct {
	Run    string
	Status pipeline.RunStatus
	Final  bool   // it was cancelled for good
	Why    string // and the cure, for people
}

// Error names the run, its status and the cure.
func (e *NotResumableError) Error() string {
	return fmt.Sprintf("run %s is %s and cannot be resumed: %s", e.Run, e.Status, e.Why)
}

// Resumable returns nil if a run with this record can be taken up again, as far as the record tells; else a *NotResumableError: it
// is complete, or was cancelled for good.
func (h RunHead) Resumable() error {
	switch {
	case !open(h.Status):
		return &NotResumableError{Run: h.ID, Status: h.Status, Why: "nothing is left to do; waymark run starts another one"}
	case h.Final:
		return &NotResumableError{Run: h.ID, Status: h.Status, Final: true, Why: "it was cancelled for good; waymark run starts another one"}
	default:
		return nil
	}
}

// Resumable returns the run's record. The error is a *NotResumableError if the run cannot be taken up again: for what its record
// says, or because a person must first decide about an effect of it.
func (l *Log) Resumable(ctx context.Context, run string) (RunHead, error) {
	head, err := get[RunHead](ctx, l.driver, run)
	if err == nil {
		err = head.Resumable()
	}
	if err != nil {
		return head, err
	}
	why, err := l.blocked(ctx, run)
	if err == nil && why != "" {
		err = &NotResumableError{Run: run, Status: head.Status, Why: why}
	}
	return head, err
}

// blocked says which effects of a run are blocked; empty if none is.
func (l *Log) blocked(ctx context.Context, run string) (string, error) {
	const most = 3
	var names []string
	more := 0
	err := each(ctx, l.driver, []any{run}, func(e effectHead) bool {
		switch {
		case e.State != Blocked:
		case len(names) < most:
			names = append(names, e.describe())
		default:
			more++
		}
		return true
	})
	if err != nil || names == nil {
		return "", err
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("nobody knows whether its targets have %s: look there, and say it with waymark resolve", strings.Join(names, ", ")), nil
}

// TakeUp moves a run that can be resumed to running, in the epoch r.Epoch, which is the one after the run's. From then on
// what InEpoch guards for earlier epochs stores nothing. The log's own guard, if it has one, does not matter.
//
// Repeating it with the same claim changes nothing, whatever became of the run in that epoch. The error wraps ErrSuperseded if
// another claim has the epoch, or a later one has begun; it is what Resumable says of a run that cannot be resumed, and a
// *DivergedError if the run on record is more than one epoch behind.
func (l *Log) TakeUp(ctx context.Context, r Resumption) error {
	err := settle("resumptions", func() error { return l.takeUp(ctx, r) })
	if err != nil {
		return fmt.Errorf("take up run %s in epoch %d: %w", r.Run, r.Epoch, err)
	}
	return nil
}

func (l *Log) takeUp(ctx context.Context, r Resumption) error {
	old, err := get[RunHead](ctx, l.plain, r.Run)
	switch {
	case err != nil:
		return err
	case r.Claim == "":
		return errors.New("nobody claims it")
	case old.Epoch >= r.Epoch:
		return l.claimed(ctx, r, old.Epoch)
	case old.Epoch < r.Epoch-1:
		return &DivergedError{Table: old.Table(), Key: r.Run, Column: "epoch"}
	}
	if old, err = l.Resumable(ctx, r.Run); err != nil {
		return err
	}
	r.Was, r.At = old.Status, l.now()
	next := old
	next.Status, next.Reason, next.Finished, next.Epoch = pipeline.Running, "", 0, r.Epoch
	return l.plain.Commit(ctx, Batch{Insert: []Record{r}, Move: []Move{{From: old, To: next}}})
}

// claimed returns nil if the claim of r has the epoch that the run is in.
func (l *Log) claimed(ctx context.Context, r Resumption, epoch int64) error {
	if epoch > r.Epoch {
		return fmt.Errorf("it is in epoch %d: %w", epoch, ErrSuperseded)
	}
	winner, err := get[Resumption](ctx, l.plain, r.Run, r.Epoch)
	if err == nil && winner.Claim != r.Claim {
		err = fmt.Errorf("%s has it: %w", winner.Claim, ErrSuperseded)
	}
	return err
}

// Resumptions returns how often, and by whom, a run was taken up again, in order.
func (l *Log) Resumptions(ctx context.Context, run string) ([]Resumption, error) {
	return Select[Resumption](ctx, l.driver, run)
}

// Retried returns the records of its parent that a run feeds again, by source and row; nil if there is none.
func (l *Log) Retried(ctx context.Context, run string) ([]RetriedRow, error) {
	linked, err := get[Run](ctx, l.driver, run)
	if err != nil || linked.Link != RetryLink {
		return nil, err
	}
	all, err := l.RetriedFrom(ctx, linked.Parent)
	return slices.Collect(func(yield func(RetriedRow) bool) {
		for _, r := range all {
			if r.Run == run && !yield(r) {
				return
			}
		}
	}), err
}

// RetriedFrom returns the records of a run that other runs feed again, by source and row; nil if there is none.
func (l *Log) RetriedFrom(ctx context.Context, parent string) ([]RetriedRow, error) {
	return Select[RetriedRow](ctx, l.driver, parent)
}
