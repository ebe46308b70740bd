package activities

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"go.temporal.io/sdk/activity"

	"waymark/internal/defect"
	"waymark/internal/failpoint"
	"waymark/landscape"
)

// attempt is what all activities have in common: it works on the record of one epoch of the run, for an execution to
// which that epoch belongs, tells Temporal that it is alive, waits while a disk is full, and marks errors that no retry
// cures. An attempt that was left behind by a resume of its run is told so and changes nothing; that it came is
// recorded.
//
// The work outlasts the attempt if Temporal gives that up without an order to stop: see flights.
func attempt[In, Out any](
	ctx context.Context, a *Activities, run string, epoch int64, in In, do doing[In, Out],
) (Out, error) {
	owned := func(inEpoch *Activities, ctx context.Context, in In) (out Out, err error) {
		if err = a.own(ctx, run, epoch); err == nil {
			out, err = do(inEpoch, ctx, in)
		}
		return out, err
	}
	return anyAttempt(ctx, a, run, epoch, in, owned)
}

// doing does what an activity is asked for, on the record of the run's epoch.
type doing[In, Out any] = func(*Activities, context.Context, In) (Out, error)

// anyAttempt is attempt for an activity that finds out itself whether the execution that asks for it may do so.
func anyAttempt[In, Out any](
	ctx context.Context, a *Activities, run string, epoch int64, in In, do doing[In, Out],
) (Out, error) {
	var none Out
	if err := a.requirePlace(ctx, in); err != nil {
		return none, err
	}
	asked, err := taskOf(ctx, run, epoch, in)
	if err != nil {
		return none, err
	}
	if !activity.GetInfo(ctx).IsLocalActivity { // another process may do the next one
		a.log.Release(run)
	}
	flown := a.flights.board(ctx, asked, func(ctx context.Context, f *flight) {
		f.out, f.err = fly(ctx, a, asked, &f.text, func(a *Activities) (Out, error) { return do(a, ctx, in) })
	})
	stop := heartbeat(ctx, &flown.text)
	defer stop()
	if err := a.flights.await(ctx, flown); err != nil {
		return none, err
	}
	out, _ := flown.out.(Out)
	return out, flown.err
}

// fly does the work of a task.
func fly[Out any](
	ctx context.Context, a *Activities, t task, waiting *atomic.Pointer[string], do func(*Activities) (Out, error),
) (Out, error) {
	leave := a.runs.enter(t.run)
	out, err := whileFull(ctx, waiting, func() (out Out, err error) {
		err = defect.Catch("activity", func() (err error) {
			if err = failpoint.Hit("activity." + t.activity + ".begin"); err == nil {
				out, err = do(a.inEpoch(t.run, t.epoch))
			}
			if err == nil {
				err = failpoint.Hit("activity." + t.activity + ".end")
			}
			return err
		})
		return out, err
	})
	if err != nil {
		a.log.Release(t.run)
	}
	if _, torn := errors.AsType[*defect.Error](err); torn {
		a.runs.drop(t.run)
	}
	if errors.Is(err, landscape.ErrSuperseded) {
		late := fmt.Sprintf("%s in epoch %d by %s", t.activity, t.epoch, a.worker)
		err = errors.Join(err, a.log.RecordEvent(ctx, t.run, "superseded", late))
	}
	if left := leave(); err == nil {
		err = left
	}
	if err != nil && errors.Is(context.Cause(ctx), errStopping) {
		err = errors.Join(errStopping, err)
	}
	return out, toTemporal(a.there(err))
}

// none is the result of an activity that only does something.
type none = struct{}

// inEpoch returns activities whose records count only as long as the run is in this epoch.
func (a *Activities) inEpoch(run string, epoch int64) *Activities {
	in := *a
	in.log, in.epoch = a.log.InEpoch(run, epoch), epoch
	return &in
}

// How long to wait for space on a full disk before the next try.
const (
	firstFullPause = 500 * time.Millisecond
	maxFullPause   = 10 * time.Second
)

// whileFull repeats do as long as it fails because a disk is full. Space comes back when people make some: that may
// take long, and giving up would help nobody.
func whileFull[T any](ctx context.Context, waiting *atomic.Pointer[string], do func() (T, error)) (T, error) {
	for pause := firstFullPause; ; pause = min(2*pause, maxFullPause) {
		out, err := do()
		if !Full(err) {
			return out, err
		}
		if waiting.Load() == nil && activity.IsActivity(ctx) {
			activity.GetLogger(ctx).Warn("waiting for space", "error", err)
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

// Full reports whether an error says that a disk, a quota or a service has no space left: the same may work later.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, landscape.ErrFull)
}
