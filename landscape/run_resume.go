package landscape

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"waymark/pipeline"
)

// NotResumableError says why a run cannot be resumed. Nothing was stored. No retry cures it.
type NotResumableError struct {
	Run    string
	Status pipeline.RunStatus
	Final  bool   // it was cancelled permanently
	Now    bool   // it can be when others have ended
	Purged bool   // its records were
	Why    string // and the cure, for people
}

// Error names the run, its status and the cure.
func (e *NotResumableError) Error() string {
	now := ""
	if e.Now {
		now = " now"
	}
	return fmt.Sprintf("run %s is %s and cannot be resumed%s: %s", e.Run, e.Status, now, e.Why)
}

// Resumable returns nil if a run with this record can be resumed, as far as the record tells; else a *NotResumableError: it
// is complete, or was cancelled permanently.
func (h RunHead) Resumable() error {
	switch {
	case !open(h.Status):
		return &NotResumableError{Run: h.ID, Status: h.Status, Why: "nothing is left to do; waymark run starts another one"}
	case h.Final:
		return &NotResumableError{Run: h.ID, Status: h.Status, Final: true, Why: "it was cancelled permanently; waymark run starts another one"}
	default:
		return nil
	}
}

// Resumable returns the run's record. The error is a *NotResumableError if the run cannot be resumed: for what its record
// says, or because a person must first decide about an effect of it, or because its records were purged.
func (r *Reader) Resumable(ctx context.Context, run string) (RunHead, error) {
	head, err := get[RunHead](ctx, r.from, run)
	if err != nil {
		return head, err
	}
	return head, r.resumable(ctx, head)
}

func (r *Reader) resumable(ctx context.Context, head RunHead) error {
	if err := head.Resumable(); err != nil {
		return err
	}
	why, err := r.blocked(ctx, head.ID)
	purged := false
	if err == nil && why == "" {
		why, err = r.withoutRecords(ctx, head.ID)
		purged = why != ""
	}
	if err == nil && why != "" {
		err = &NotResumableError{Run: head.ID, Status: head.Status, Why: why, Purged: purged}
	}
	return err
}

// withoutRecords says that records of a run were purged; empty if all are stored.
func (r *Reader) withoutRecords(ctx context.Context, run string) (string, error) {
	purged, err := r.FirstPurged(ctx, run)
	if err != nil || purged == nil {
		return "", err
	}
	return fmt.Sprintf("its records were %s; waymark run starts another one", purged), nil
}

// blocked says which effects of a run are blocked; empty if none is.
func (r *Reader) blocked(ctx context.Context, run string) (string, error) {
	const most = 3
	var names []string
	more := 0
	err := each(ctx, r.from, []any{run}, func(e effectHead) bool {
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

// Resume moves a run that can be resumed to running, in the epoch r.Epoch, which is the one after the run's, for
// which the execution works, if it is one. From then on what InEpoch guards for earlier epochs stores nothing. The
// log's own guard, if it has one, does not matter.
//
// Repeating it with the same claim changes nothing, whatever became of the run in that epoch. The error wraps ErrSuperseded if
// another claim has the epoch, or a later one has begun; it is what Resumable says of a run that cannot be resumed, and a
// *DivergedError if the recorded run is more than one epoch behind. A run whose places are taken cannot be resumed. It is an *UnsealableError if the
// run was sealed when it ended, and its records are not those any more: else its next seal would bind what somebody changed.
func (l *Log) Resume(ctx context.Context, r Resumption, by ...Execution) error {
	err := settle("resumptions", func() error { return l.resume(ctx, r, by) })
	if err != nil {
		return fmt.Errorf("resume run %s in epoch %d: %w", r.Run, r.Epoch, err)
	}
	return nil
}

func (l *Log) resume(ctx context.Context, r Resumption, by []Execution) error {
	old, err := get[RunHead](ctx, l, r.Run)
	switch {
	case err != nil:
		return err
	case r.Claim == "":
		return errors.New("the claim is empty")
	case old.Epoch >= r.Epoch:
		return l.claimed(ctx, r, old.Epoch)
	case old.Epoch < r.Epoch-1:
		return &DivergedError{Table: old.Table(), Key: r.Run, Column: "epoch"}
	}
	if err := l.resumable(ctx, old); err != nil {
		return err
	}
	if err := l.intact(ctx, old); err != nil {
		return err
	}
	tx, err := l.readmit(ctx, old)
	if err != nil {
		return err
	}
	r.Was, r.At = old.Status, l.now()
	next := old
	next.Status, next.Reason, next.Finished, next.Epoch = pipeline.Running, "", 0, r.Epoch
	insert := []Record{r}
	for _, e := range by {
		e.Run, e.Epoch, e.At = r.Run, r.Epoch, r.At
		insert = append(insert, e)
	}
	insert = append(append(insert, tx.Insert...), runEvent(RunResumed, next, stepBegun, "", r.At, eventData{}))
	return l.plain.Commit(ctx, Tx{Insert: insert, Move: append(tx.Move, Move{From: old, To: next})})
}

// claimed returns nil if the claim of r has the epoch that the run is in.
func (l *Log) claimed(ctx context.Context, r Resumption, epoch int64) error {
	if epoch > r.Epoch {
		return fmt.Errorf("it is in epoch %d: %w", epoch, ErrSuperseded)
	}
	winner, err := get[Resumption](ctx, l, r.Run, r.Epoch)
	if err == nil && winner.Claim != r.Claim {
		err = fmt.Errorf("%s has it: %w", winner.Claim, ErrSuperseded)
	}
	return err
}

// Resumptions returns how often, and by whom, a run was resumed, in order.
func (r *Reader) Resumptions(ctx context.Context, run string) ([]Resumption, error) {
	return Select[Resumption](ctx, r.from, run)
}
