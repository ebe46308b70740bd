package retain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/payload"
)

// Purger deletes payloads by order. It is safe to run beside everything else that uses the landscape and the payload store, and beside another
// Purger. After any error, or a crash, the next purge finishes what was begun.
type Purger struct {
	Log      *landscape.Log
	Payloads *payload.Store

	// Patience is how old a deletion must be before another purge than the one that began it finishes it: so long the process that began it may
	// still be at work. 0 is DefaultPatience; a negative one says that no other process is at work.
	Patience time.Duration

	// By are the periods in force by which payloads are due; nil if a person orders the purge.
	By *landscape.RetentionPeriods

	// Progress, if not nil, is called with how many payloads are deleted so far, of how many.
	Progress func(done, total int)
}

// DefaultPatience is far longer than a deletion takes.
const DefaultPatience = 10 * time.Minute

// lease is how long after a deletion was begun its own purge may still carry it out: when Patience is over nobody else does.
const lease = DefaultPatience / 2

// Result is what a purge came to.
type Result struct {
	Purge    int64 `json:"purge,omitempty"` // the order; 0 if nothing was due
	Deleted  int   `json:"deleted"`         // payloads
	Bytes    int64 `json:"bytes"`           // that they had
	Finished int   `json:"finished"`        // of them, that an earlier purge had begun
	Kept     int   `json:"kept"`            // payloads that came into use, or under a hold, meanwhile
	Left     int   `json:"left"`            // deletions that another purge began a short time ago
}

// batch is how many payloads one transaction is about.
const batch = 100

// Purge carries out a plan, in the order of the record: the order and the runs that it is about are recorded first; then, payload by payload, that it may
// be deleted, which the landscape refuses if a run needs it by now; then it is deleted, and that is recorded. An order with an ID was recorded before, and is continued.
func (p *Purger) Purge(ctx context.Context, plan *Plan, order landscape.Purge) (result Result, err error) {
	if err := p.finish(ctx, &result); err != nil {
		return result, err
	}
	if len(plan.Payloads) == 0 {
		return result, nil
	}
	if order.ID == 0 {
		if p.By != nil {
			order, err = p.Log.BeginDuePurge(ctx, order, plan.Runs, *p.By)
		} else {
			order, err = p.Log.BeginPurge(ctx, order, plan.Runs)
		}
		if err == nil {
			err = failpoint.Hit("purge.ordered")
		}
	}
	if err != nil {
		return result, fmt.Errorf("purge: %w", err)
	}
	result.Purge = order.ID
	for left := plan.Payloads; len(left) > 0; {
		now := left[:min(batch, len(left))]
		left = left[len(now):]
		begun, err := p.begin(ctx, order.ID, now, &result)
		if err == nil {
			err = p.delete(ctx, begun, &result)
		}
		if err != nil {
			return result, fmt.Errorf("purge %d: %w", order.ID, err)
		}
		if p.Progress != nil {
			p.Progress(len(plan.Payloads)-len(left), len(plan.Payloads))
		}
	}
	return result, nil
}

// begin records which of some payloads may be deleted.
func (p *Purger) begin(ctx context.Context, purge int64, payloads []string, result *Result) ([]landscape.Deletion, error) {
	begun, err := p.Log.BeginDeletion(ctx, purge, payloads...)
	if !refused(err) {
		return begun, cmp.Or(err, failpoint.Hit("purge.begun"))
	}
	if len(payloads) == 1 {
		result.Kept++
		return nil, nil
	}
	begun = nil
	for _, payload := range payloads { // one of them is in use, and keeps no other
		one, err := p.begin(ctx, purge, []string{payload}, result)
		if err != nil {
			return nil, err
		}
		begun = append(begun, one...)
	}
	return begun, nil
}

// refused reports whether a payload stays: somebody needs it, or another purge has it.
func refused(err error) bool {
	diverged, raced := errors.AsType[*landscape.DivergedError](err)
	return errors.Is(err, landscape.ErrInUse) || raced && diverged.Table == landscape.Deletion{}.Table()
}

// delete deletes payloads, and records it.
func (p *Purger) delete(ctx context.Context, begun []landscape.Deletion, result *Result) error {
	deleted := make([]landscape.DeletedPayload, 0, len(begun))
	for _, d := range begun {
		digest := payload.Digest(d.Payload)
		bytes, err := p.Payloads.Size(ctx, digest)
		if errors.Is(err, payload.ErrNotFound) {
			bytes, err = 0, nil // the process that began it came so far
		}
		if err == nil && p.Log.Now().Time().Sub(d.At.Time()) > lease {
			err = fmt.Errorf("it took too long to delete payload %s: another purge may have done it by now; run `waymark purge` again", digest)
		}
		if err == nil {
			err = p.Payloads.Delete(ctx, digest)
		}
		if err == nil {
			err = failpoint.Hit("purge.deleted")
		}
		if err != nil {
			return errors.Join(err, p.Log.EndDeletion(ctx, deleted...))
		}
		deleted = append(deleted, landscape.DeletedPayload{Payload: d.Payload, Number: d.Number, Bytes: bytes})
		result.Deleted++
		result.Bytes += bytes
	}
	return cmp.Or(p.Log.EndDeletion(ctx, deleted...), failpoint.Hit("purge.ended"))
}

// finish deletes what earlier purges began to, and did not.
func (p *Purger) finish(ctx context.Context, result *Result) error {
	var left []landscape.Deletion
	oldest := p.Log.Now().Time().Add(-cmp.Or(p.Patience, DefaultPatience))
	err := p.Log.EachUnfinished(ctx, func(d landscape.Deletion) bool {
		if p.Patience < 0 || d.At.Time().Before(oldest) {
			left = append(left, d)
		} else {
			result.Left++
		}
		return true
	})
	if err != nil {
		return err
	}
	for i := range left {
		left[i].At = p.Log.Now() // it is this purge's from here on
	}
	result.Finished = len(left)
	return p.delete(ctx, left, result)
}
