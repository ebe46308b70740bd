package activities

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"go.temporal.io/sdk/activity"

	"waymark/internal/failpoint"
	"waymark/landscape"
)

// attempt is what all activities have in common: it works on the record of one epoch of the run, for an execution to which that
// epoch belongs, tells Temporal that it is alive, waits while a disk is full, and marks errors that no retry cures. An attempt that was left behind by a resume of its
// run is told so and changes nothing; that it came is recorded.
func attempt[T any](ctx context.Context, a *Activities, run string, epoch int64, do func(context.Context, *Activities) (T, error)) (T, error) {
	return anyAttempt(ctx, a, run, epoch, func(ctx context.Context, inEpoch *Activities) (out T, err error) {
		if err = a.own(ctx, run, epoch); err == nil {
			out, err = do(ctx, inEpoch)
		}
		return out, err
	})
}

// anyAttempt is attempt for an activity that finds out itself whether the execution that asks for it may do so.
func anyAttempt[T any](ctx context.Context, a *Activities, run string, epoch int64, do func(context.Context, *Activities) (T, error)) (T, error) {
	name := Does(activity.GetInfo(ctx).ActivityType.Name)
	var waiting atomic.Pointer[string]
	defer heartbeat(ctx, &waiting)()
	leave := a.runs.enter(run)
	out, err := whileFull(ctx, &waiting, func() (out T, err error) {
		if err = failpoint.Hit("activity." + name + ".begin"); err == nil {
			out, err = do(ctx, a.inEpoch(run, epoch))
		}
		if err == nil {
			err = failpoint.Hit("activity." + name + ".end")
		}
		return out, err
	})
	if errors.Is(err, landscape.ErrSuperseded) {
		err = errors.Join(err, a.log.RecordEvent(ctx, run, "superseded", fmt.Sprintf("%s in epoch %d by %s", name, epoch, a.worker)))
	}
	if left := leave(); err == nil {
		err = left
	}
	return out, toTemporal(a.there(err))
}

// none is the result of an activity that only does something.
type none = struct{}

// inEpoch returns activities whose records count only as long as the run is in this epoch.
func (a *Activities) inEpoch(run string, epoch int64) *Activities {
	in := *a
	in.log = a.log.InEpoch(run, epoch)
	return &in
}

// How long to wait for space on a full disk before the next try.
const (
	firstFullPause = 500 * time.Millisecond
	maxFullPause   = 10 * time.Second
)

// whileFull repeats do as long as it fails because a disk is full. Space comes back when people make some: that may take long,
// and giving up would help nobody.
func whileFull[T any](ctx context.Context, waiting *atomic.Pointer[string], do func() (T, error)) (T, error) {
	for pause := firstFullPause; ; pause = min(2*pause, maxFullPause) {
		out, err := do()
		if !isFull(err) {
			return out, err
		}
		text := "waiting: " + err.Error()
		waiting.Store(&text)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return out, err
		}
	}
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, landscape.ErrFull)
}
