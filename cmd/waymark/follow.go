package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.temporal.io/api/serviceerror"

	"waymark/client"
	"waymark/internal/defect"
	"waymark/internal/program"
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

// untilInterrupted returns a context that the first Ctrl-C, SIGTERM or SIGHUP cancels, with the cause asked. The second one ends the
// process at once. What the command does continues to its end if nobody reads its output any more.
func (a *app) untilInterrupted(ctx context.Context) (context.Context, func()) {
	a.outlive()
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, program.Signals()...)
	go defect.Guard("signal", func() {
		cancel(asked{<-signals})
		<-signals
		fmt.Fprintln(a.stderr, "waymark: "+a.endedAtOnce())
		os.Exit(exitInterrupted)
	})()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// outlive lets this process, and its exit code, be what they are also if nobody reads what it prints any more.
func (a *app) outlive() {
	program.OutliveReaders()
	if out, ok := a.stdout.(*program.Output); ok {
		out.Outlives = true
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
		return fmt.Sprintf("ended at once; what was done until then is recorded; resume it: waymark resume %s", *id)
	}
	return "ended at once"
}

// follow shows how far the run is until its execution ends, and says what became of it.
func (a *app) follow(ctx context.Context, e *client.Execution) (err error) {
	defer func() { err = closing(err, e.Close) }()
	if !e.Remote() {
		a.executing.Store(&e.Run)
	}
	end, err := a.show(ctx, e)
	if err != nil {
		return err
	}
	if end.Detached {
		return a.left(e, end)
	}
	outcome, err := e.Outcome(context.Background(), end)
	if err != nil {
		return err
	}
	return a.report(e, end, outcome)
}

// show shows what happens to the run until its execution ends. A start that is refused ends before there is anything to follow.
func (a *app) show(ctx context.Context, e *client.Execution) (*client.Ending, error) {
	view := a.progressView(e.Total, e.Before)
	defer view.close()
	following := !e.Remote() || e.Detach || e.Joined // or it is said
	for event, err := range e.Follow(ctx) {
		if err != nil {
			return nil, err
		}
		if !following && event.Kind != client.EndedEvent {
			view.say(fmt.Sprintf("following run %s on queue %s; Ctrl-C stops following it, not the run", e.Run, e.Session().Queue))
			following = true
		}
		said := event.Message + hintFor(event.Cure, e.Run)
		switch event.Kind {
		case client.ProgressEvent:
			view.show(event.Progress)
		case client.HeldEvent:
			view.hold(said)
			if said == "" {
				view.say("going on")
			} else if !event.Again {
				view.say(said)
			}
		case client.StoppingEvent:
			a.note("stopping …")
		case client.OverrideEvent:
			a.note("--param %s", said)
		case client.WarningEvent:
			a.note("%s", said)
		case client.EndedEvent:
			return event.Ending, nil
		default:
			view.say(said)
		}
	}
	return nil, errors.New("the run's events ended before the run did")
}
