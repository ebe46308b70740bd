package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/client"
	"waymark/internal/program"
	"waymark/pipeline"
	"waymark/workflows"
)

// asked is the cause of a context that a signal cancelled.
type asked struct{ os.Signal }

// Error says for the record which signal it was.
func (s asked) Error() string {
	switch s.Signal {
	case syscall.SIGTERM:
		return "received SIGTERM"
	case syscall.SIGHUP:
		return "received SIGHUP"
	default:
		return "stopped at the terminal"
	}
}

// Unwrap makes it look like any other cancellation.
func (asked) Unwrap() error { return context.Canceled }

// whyStopped says for the record why ctx is cancelled.
func whyStopped(ctx context.Context) string {
	by, _ := errors.AsType[asked](context.Cause(ctx))
	return by.Error()
}

// untilInterrupted returns a context that the first Ctrl-C, SIGTERM or SIGHUP cancels, with the cause asked. The second one ends the
// process at once.
func (a *app) untilInterrupted(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, program.Signals()...)
	go func() {
		cancel(asked{<-signals})
		<-signals
		fmt.Fprintln(a.stderr, "waymark: "+a.endedAtOnce())
		os.Exit(exitInterrupted)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// stoppedEarly reports whether err says no more than that somebody stopped the program, by whichever way that came.
func stoppedEarly(err error) bool {
	_, remote := errors.AsType[*serviceerror.Canceled](err)
	return remote || errors.Is(err, context.Canceled)
}

// endedAtOnce says what becomes of the run that this process executes, if it executes one.
func (a *app) endedAtOnce() string {
	if id := a.executing.Load(); id != nil {
		return fmt.Sprintf("ended at once; what was done until then is on record; go on with: waymark resume %s", *id)
	}
	return "ended at once"
}

const (
	// pollInterval is how often progress is read. A reading costs the record less than a millisecond.
	pollInterval = 300 * time.Millisecond
	// stopPatience is how long the workflow may take to record that it was stopped, orderPatience how long to take the order.
	stopPatience  = 10 * time.Second
	orderPatience = 5 * time.Second
	// recordPatience is how long this process may then take to record that itself.
	recordPatience = 2 * time.Second
)

// ending is how the workflow of a run ended.
type ending struct {
	result      workflows.RunResult
	err         error
	interrupted bool // by the person at the terminal
	detached    bool // it did not end: this process follows it no more
}

// follow shows progress until the workflow ends. If ctx is cancelled it stops the run, or follows it no more if others execute it.
func (e *execution) follow(ctx context.Context, handle sdk.WorkflowRun) ending {
	lasting := context.WithoutCancel(ctx)
	ended := make(chan ending, 1)
	go func() {
		var end ending
		end.err = outcome(lasting, handle, &end.result)
		ended <- end
	}()
	view := e.app.progressView(e.total, e.before)
	defer view.close()
	progress, news := time.NewTicker(pollInterval), time.NewTicker(newsInterval)
	defer progress.Stop()
	defer news.Stop()
	watch := newWatch(e, handle)
	for {
		if e.detach && e.begun == nil {
			return ending{detached: true}
		}
		select {
		case end := <-ended:
			return end
		case <-ctx.Done():
			if e.follows {
				return ending{detached: true, interrupted: true}
			}
			return e.stop(lasting, handle, ended, whyStopped(ctx))
		case <-news.C:
			watch.tell(lasting, view)
		case <-progress.C:
			// There is no progress yet while the record is being made. A reading that fails is no reason to stop a run.
			if progress, err := e.machine.record.log.Progress(lasting, e.id()); err == nil {
				watch.still.saw(progress, time.Now())
				view.show(progress)
				_ = e.atBeginning(lasting) // what fails is tried again
			}
		}
	}
}

// outcome waits for the workflow's end. A server that cannot write, because its disk is full, answers nobody until it can.
func outcome(ctx context.Context, handle sdk.WorkflowRun, result *workflows.RunResult) error {
	for {
		err := handle.Get(ctx, result)
		_, timedOut := errors.AsType[*serviceerror.DeadlineExceeded](err)
		_, unavailable := errors.AsType[*serviceerror.Unavailable](err)
		_, exhausted := errors.AsType[*serviceerror.ResourceExhausted](err)
		if !timedOut && !unavailable && !exhausted && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		time.Sleep(pollInterval)
	}
}

// stop stops the workflow and waits until the record says so.
func (e *execution) stop(ctx context.Context, handle sdk.WorkflowRun, ended <-chan ending, why string) ending {
	e.app.note("stopping …")
	patience, done := context.WithTimeout(ctx, stopPatience)
	defer done()
	if e.order(patience, handle, why) == nil {
		select {
		case end := <-ended:
			end.interrupted = true
			return end
		case <-patience.Done():
		}
	}
	last, done := context.WithTimeout(ctx, recordPatience)
	defer done()
	err := e.machine.record.log.StopRun(last, e.id(), pipeline.Interrupted, "interrupted by "+actor()+": "+why+"; what was on its way did not end in time")
	return ending{err: err, interrupted: true}
}

// order tells the workflow to stop: by an order that says who and why, or else, if nobody takes that, by cancelling it. A
// workflow that refuses the order is about to end.
func (e *execution) order(ctx context.Context, handle sdk.WorkflowRun, why string) error {
	patience, done := context.WithTimeout(ctx, orderPatience)
	defer done()
	err := e.machine.temporal.Send(patience, e.id(), workflows.CancelUpdate, workflows.Order{
		Actor: actor(), Why: why, As: pipeline.Interrupted,
	})
	if _, is := client.Refused(err); is || err == nil {
		return nil
	}
	return e.machine.temporal.Temporal.CancelWorkflow(ctx, handle.GetID(), handle.GetRunID())
}

// cause returns what went wrong in the words of the activity, or else the workflow, that said it, without Temporal's wrapping. What it
// wraps in turn is a part of these words: they name the service, where it is, and the cure.
func cause(err error) string {
	message := err.Error()
	for err != nil {
		application, is := errors.AsType[*temporal.ApplicationError](err)
		if !is {
			break
		}
		message, err = application.Message(), application.Unwrap()
		if _, wraps := errors.AsType[*temporal.ActivityError](err); !wraps {
			break
		}
	}
	return activities.BeforeRun(message)
}
