package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/landscape"
	"waymark/pipeline"
)

// How often a run that waits for places asks again by itself: a signal that is lost costs minutes.
const (
	firstAsk = 2 * time.Minute
	maxAsk   = 15 * time.Minute
)

// withheld ends the workflow of a run that does not begin: that is recorded already.
type withheld struct {
	result RunResult
	cause  error // of the run that it joined
}

// Error says why.
func (w *withheld) Error() string {
	return w.result.Reason
}

// queue is a run that waits for places. Its workflow sleeps: no worker knows of it.
type queue struct {
	in        *activities.OpenInput
	handler   *commandHandler
	held      *activities.Held
	pause     time.Duration
	cancelled *Command
	joined    *RunResult // of the run that it joined, when that has ended
}

// open begins the run's record, when the run may begin.
func open(ctx workflow.Context, d *commandHandler, in *activities.OpenInput) (*State, activities.Labels, error) {
	q := &queue{in: in, handler: d, pause: firstAsk}
	for {
		opened, err := openNow(ctx, *q.in)
		if q.held != nil && q.cancelled != nil { // while it asked
			return nil, opened.Labels, q.end(ctx)
		}
		if err != nil {
			return nil, opened.Labels, err
		}
		if opened.Held == nil {
			in.Again = false // it concerns nobody any more
			return &State{State: resumepoint.NewState(opened.Plan), Sticky: opened.Worker, Overridden: opened.Overridden}, opened.Labels, nil
		}
		if err := q.hold(ctx, opened); err != nil {
			return nil, opened.Labels, err
		}
	}
}

// hold waits until the run may ask again. The error says why it does not.
func (q *queue) hold(ctx workflow.Context, opened activities.Opened) error {
	q.held, q.in.Again = opened.Held, true
	showRun(ctx, q.in.Run, opened.Labels, string(q.held.State))
	q.detail(ctx, string(q.held.State), q.held.Reason)
	q.handler.to = q
	if q.held.State != landscape.StartWaiting {
		q.handler.close(errors.New(q.held.Reason))
	}
	switch {
	case q.held.Joined != "":
		result, err := joined(ctx, q.held.Joined)
		q.joined = &result
		return &withheld{result, err}
	case q.held.State != landscape.StartWaiting:
		return &withheld{result: q.result(pipeline.RunStatus(q.held.State), q.held.Reason)}
	}
	for _, run := range q.held.Cancel {
		if err := workflow.RequestCancelExternalWorkflow(ctx, WorkflowID(run), "").Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Warn("a run that is to make room cannot be cancelled", "run", run, "error", err)
		}
	}
	return q.sleep(ctx)
}

// sleep waits for the signal that the run may begin, or until it is time to ask without one: at the latest when it may
// not wait any longer.
func (q *queue) sleep(ctx workflow.Context) error {
	signal := workflow.GetSignalChannel(ctx, activities.AdmittedSignal)
	pause := q.pause
	if q.held.Rest > 0 { // then it is refused, if it asks
		pause = min(pause, q.held.Rest)
	}
	told := func() bool { return signal.Len() > 0 || q.cancelled != nil }
	if _, err := workflow.AwaitWithTimeout(ctx, pause, told); err != nil {
		return err
	}
	if q.cancelled != nil {
		return q.end(ctx)
	}
	for signal.ReceiveAsync(nil) {
	}
	q.pause = min(2*q.pause, maxAsk)
	return nil
}

// end waits until it is recorded that somebody cancelled the run.
func (q *queue) end(ctx workflow.Context) error {
	if err := awaitHandlers(ctx); err != nil {
		return err
	}
	return &withheld{result: q.result(q.cancelled.As, q.cancelled.Sentence())}
}

func (q *queue) result(status pipeline.RunStatus, reason string) RunResult {
	return RunResult{Run: q.in.Run, Status: status, Reason: reason}
}

// view is how the run waits, or that it does not begin, or how the one is that it joined.
func (q *queue) view() View {
	view := View{Run: q.in.Run, Workflow: WorkflowID(q.in.Run), Status: string(q.held.State)}
	switch {
	case q.cancelled != nil:
		view.Status, view.Reason = string(q.cancelled.As), q.cancelled.Sentence()
	case q.held.State == landscape.StartWaiting:
		view.Waits = q.held.Reason
	case q.held.Joined != "" && (q.joined == nil || q.joined.Run != ""):
		view.Run, view.Workflow, view.Status = q.held.Joined, WorkflowID(q.held.Joined), string(pipeline.Running)
		if q.joined != nil {
			view.Status = string(q.joined.Status)
		}
	default:
		view.Reason = q.held.Reason
	}
	return view
}

// detail shows how the run waits, or why it does not begin: then there is nothing to continue with.
func (q *queue) detail(ctx workflow.Context, status, reason string) {
	in := RunInput{OpenInput: *q.in}
	in.detail(ctx, status, reason, nil)
}

// refuses all orders but to cancel, which is given once: a run that waits cannot be paused.
func (q *queue) refuses(name string) error {
	switch {
	case q.cancelled != nil:
		return refused("run %s is cancelled", q.in.Run)
	case name != CancelUpdate:
		return refused("%s", OnlyCancelled(q.in.Run))
	}
	return nil
}

// OnlyCancelled says why a run that waits for places obeys no other order.
func OnlyCancelled(run string) string {
	return fmt.Sprintf("run %s waits for places, and can only be cancelled until it begins", run)
}

// obey records that somebody cancelled the run: before it began, or just when it did.
func (q *queue) obey(ctx workflow.Context, _ string, command Command) error {
	if command.As == "" {
		command.As = pipeline.Cancelled
	}
	q.cancelled = &command
	stopped := activities.StopInput{Run: q.in.Run, Status: pipeline.Cancelled, Reason: command.Sentence(), Begin: q.in, Joiners: joiners(ctx, nil)}
	lasting, _ := workflow.NewDisconnectedContext(ctx)
	var labelled activities.Labelled
	err := workflow.ExecuteActivity(withActivity(lasting, "record: cancel by %s", command.Actor), act.StopRun, stopped).Get(lasting, &labelled)
	if err != nil {
		return err
	}
	showStatus(ctx, labelled.Labels, string(pipeline.Cancelled))
	q.detail(ctx, string(pipeline.Cancelled), stopped.Reason)
	return nil
}
