package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/internal/defect"
	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// Event is something that the follower of a run may want to know.
type Event struct {
	Kind     EventKind          `json:"event"`
	Progress landscape.Progress `json:"progress,omitzero"` // of ProgressEvent
	Message  string             `json:"message,omitempty"`
	Cure     Cure               `json:"cure,omitempty"`
	Again    bool               `json:"again,omitempty"` // of HeldEvent: the run waited before, for something else
	Ending   *Ending            `json:"-"`               // of EndedEvent
}

// EventKind is a kind of Event.
type EventKind string

// The kinds of events.
const (
	ProgressEvent EventKind = "progress" // how far the run is
	HeldEvent     EventKind = "held"     // something keeps the run from moving; without a message: nothing does any more
	FailingEvent  EventKind = "failing"  // an activity failed and is tried again
	StalledEvent  EventKind = "stalled"  // nothing has moved for some time
	StoppingEvent EventKind = "stopping" // the run was told to stop
	OverrideEvent EventKind = "override" // a parameter of the request has another value than its slot gives
	WarningEvent  EventKind = "warning"  // something besides the run went wrong
	EndedEvent    EventKind = "ended"    // the last one
)

// Ending is how following a run ended. What became of the run is in its record.
type Ending struct {
	Result      workflows.RunResult
	Err         error // of the workflow
	Interrupted bool  // the follower wanted to stop
	Detached    bool  // the run continues, and is not followed any more
	Gone        bool  // the process that executed the run ended before its workflow did
}

const (
	// pollInterval is how often progress is read. A reading costs the landscape less than a millisecond.
	pollInterval = 300 * time.Millisecond
	// stopTimeout is how long the workflow may take to record that it was stopped, stopOrderTimeout how long to accept the order.
	stopTimeout      = 10 * time.Second
	stopOrderTimeout = 5 * time.Second
	// recordTimeout is how long this process may then take to record that itself.
	recordTimeout = 2 * time.Second
)

// Follow returns what happens to the run until its execution ends; the last event is the EndedEvent. When ctx is cancelled, a run that
// this process executes is stopped, with the cause of ctx as the reason, and can be resumed; a run that others execute is not followed
// any more. The error ends the sequence as well; the run may continue then. To leave the sequence early leaves the run as it is.
func (e *Execution) Follow(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if e.handle == nil { // it has ended
			yield(Event{Kind: EndedEvent, Ending: cmp.Or(e.ending, &Ending{})}, nil)
			return
		}
		f := &follower{Execution: e, emit: func(event Event) bool { return yield(event, nil) }}
		end, left := f.follow(ctx)
		if left {
			return
		}
		if err := f.finish(context.WithoutCancel(ctx), end); err != nil {
			yield(Event{}, err)
			return
		}
		if !f.left {
			yield(Event{Kind: EndedEvent, Ending: end}, nil)
		}
	}
}

// follower is one reader of a run's events.
type follower struct {
	*Execution
	emit  func(Event) bool
	left  bool // the reader wants no more
	asked bool // which parameters override those of the slot
}

func (f *follower) send(event Event) {
	f.left = f.left || !f.emit(event)
}

func (f *follower) warn(err error) {
	if err != nil {
		f.send(Event{Kind: WarningEvent, Message: err.Error()})
	}
}

// follow follows the workflow to its end; left says that the reader went before.
func (f *follower) follow(ctx context.Context) (end *Ending, left bool) {
	lasting, over := context.WithCancel(context.WithoutCancel(ctx))
	defer over()
	ended := make(chan *Ending, 1)
	go func() {
		end := &Ending{}
		end.Err = defect.Catch("follow", func() error { return outcome(lasting, f.handle, &end.Result) })
		ended <- end
	}()
	progress, look := time.NewTicker(pollInterval), time.NewTicker(watchInterval)
	defer progress.Stop()
	defer look.Stop()
	watch := newWatch(f)
	for !f.left {
		if f.Detach && f.begun == nil {
			return &Ending{Detached: true}, false
		}
		select {
		case end := <-ended:
			return end, false
		case <-ctx.Done():
			if f.Remote() {
				return &Ending{Detached: true, Interrupted: true}, false
			}
			return f.halt(lasting, ended, context.Cause(ctx).Error()), false
		case <-look.C:
			if f.gone != nil && f.gone() {
				return &Ending{Gone: true}, false
			}
			watch.look(lasting)
		case <-progress.C:
			// There is no progress yet while the run is being recorded. A reading that fails is no reason to stop a run.
			if progress, err := f.session.Log.Progress(lasting, f.Run); err == nil {
				watch.stall.saw(progress, time.Now())
				f.send(Event{Kind: ProgressEvent, Progress: progress})
				_ = f.atBeginning(lasting) // what fails is tried again
				f.tellOverridden(lasting)
			}
		}
	}
	return nil, true
}

// tellOverridden tells once, of a run that workers opened for a slot, which parameters of the request have other values than the slot gives.
func (f *follower) tellOverridden(ctx context.Context) {
	if f.asked || f.Document != nil || f.Joined || f.input.For == "" || len(f.input.Params) == 0 {
		return
	}
	if _, recorded, err := f.Recorded(ctx); err != nil || !recorded {
		return
	}
	f.asked = true
	view, err := (&Executor{Connection: f.session.Connection}).View(ctx, f.Run)
	if err != nil {
		return // the run can be followed without
	}
	for _, param := range slices.Sorted(maps.Keys(view.Overridden)) {
		f.send(Event{Kind: OverrideEvent, Message: OverrideText(param, f.input.Params[param], f.input.For, view.Overridden[param])})
	}
}

// OverrideText says that a parameter has another value than the slot gives.
func OverrideText(param, value, slot, given string) string {
	return fmt.Sprintf("%s=%s overrides the value that slot %s gives: %s", param, value, slot, given)
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

// halt stops the workflow and waits until the record says so.
func (f *follower) halt(ctx context.Context, ended <-chan *Ending, why string) *Ending {
	f.send(Event{Kind: StoppingEvent})
	patience, done := context.WithTimeout(ctx, stopTimeout)
	defer done()
	if f.order(patience, why) == nil {
		select {
		case end := <-ended:
			end.Interrupted = true
			return end
		case <-patience.Done():
		}
	}
	last, done := context.WithTimeout(ctx, recordTimeout)
	defer done()
	reason := "interrupted by " + f.by.Actor + ": " + why + "; what was in flight did not end in time"
	return &Ending{Err: f.session.Log.StopRun(last, f.Run, pipeline.Interrupted, reason), Interrupted: true}
}

// order tells the workflow to stop: by an order that says who and why, or else, if nobody takes that, by cancelling it. A workflow that
// refuses the order is about to end.
func (f *follower) order(ctx context.Context, why string) error {
	patience, done := context.WithTimeout(ctx, stopOrderTimeout)
	defer done()
	err := f.session.Send(patience, f.Run, workflows.CancelUpdate, workflows.Command{Actor: f.by.Actor, Why: why, As: pipeline.Interrupted})
	if _, refused := Refused(err); refused || err == nil {
		return nil
	}
	return f.session.Temporal.CancelWorkflow(ctx, f.handle.GetID(), f.handle.GetRunID())
}

// finish does what is left to do when the workflow ended.
func (f *follower) finish(ctx context.Context, end *Ending) error {
	if err := failpoint.Hit("run.ended"); err != nil || end.Detached {
		return err
	}
	f.warn(f.atBeginning(ctx))
	f.tellOverridden(ctx)
	f.ended(ctx, end)
	end.Err = errors.Join(end.Err, f.settle(ctx, end))
	run, recorded, err := f.Recorded(ctx)
	if err == nil && recorded && Complete(run.Status) {
		err = f.session.forgetInput(run.ID)
	}
	f.warn(err)
	return nil
}

// Cause returns what went wrong in the words of the activity, or else the workflow, that said it, without Temporal's wrapping. What it
// wraps in turn is a part of these words: they name the service, where it is, and the cure.
func Cause(err error) string {
	message := err.Error()
	for err != nil {
		application, ok := errors.AsType[*temporal.ApplicationError](err)
		if !ok {
			break
		}
		message, err = application.Message(), application.Unwrap()
		if _, wraps := errors.AsType[*temporal.ActivityError](err); !wraps {
			break
		}
	}
	return activities.BeforeRun(message)
}
