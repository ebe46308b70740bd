package workflows

import (
	"cmp"
	"errors"
	"fmt"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/internal/temporal/attributes"
	"waymark/landscape"
	"waymark/pipeline"
)

// proxy is a workflow that somebody started for a run under an id of their own. It starts the workflow of the run, or
// finds that it is there, hands orders on to it, and waits for its end.
type proxy struct {
	in    RunInput
	view  View
	begun bool // the workflow of the run is there
	ended bool
}

// accepted is the status of a run whose workflow is not there yet, or still opens it.
const accepted = "accepted"

func newProxy(in RunInput) *proxy {
	return &proxy{in: in, view: View{Run: in.Run, Workflow: WorkflowID(in.Run), Status: accepted}}
}

// listen answers questions and takes orders.
func (p *proxy) listen(ctx workflow.Context) error {
	workflow.Go(ctx, p.hear)
	if err := workflow.SetQueryHandler(ctx, ProgressQuery, func() (View, error) { return p.view, nil }); err != nil {
		return err
	}
	for _, name := range []string{PauseUpdate, ContinueUpdate, CancelUpdate} {
		handOn := func(ctx workflow.Context, command Command, _ converter.RawValue) error {
			return p.handOn(ctx, name, command)
		}
		err := workflow.SetUpdateHandlerWithOptions(ctx, name, handOn, workflow.UpdateHandlerOptions{
			Validator: func(command Command, second converter.RawValue) error {
				command.faults.more(second)
				if p.ended {
					return p.tooLate()
				}
				return command.validate(name)
			},
			Description: "hands the order on to the workflow of the run, which puts it on record and obeys it",
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hear learns that the run waits for places, or does so no more.
func (p *proxy) hear(ctx workflow.Context) {
	told := workflow.GetSignalChannel(ctx, activities.StarterSignal)
	for {
		var wait activities.Wait
		told.Receive(ctx, &wait)
		switch { // anybody can send the signal
		case wait.Joined == "":
			p.waits(clipped(wait.Reason, mostDetails))
		case pipeline.CheckRunID(wait.Joined) == nil:
			p.joins(wait.Joined)
		}
	}
}

// waits notes why the run waits for places; nothing if it does not wait any more.
func (p *proxy) waits(reason string) {
	switch {
	case p.ended:
	case reason != "":
		p.view.Status, p.view.Waits = string(landscape.StartWaiting), reason
	case p.view.Waits != "":
		p.view.Status, p.view.Waits = string(pipeline.Running), ""
	}
}

// joins notes that the run does not begin: its result will be that of another one.
func (p *proxy) joins(run string) {
	if !p.ended {
		p.view.Run, p.view.Workflow, p.view.Status, p.view.Waits = run, WorkflowID(run), string(pipeline.Running), ""
	}
}

// tooLate refuses orders to a run that did not begin, or has ended.
func (p *proxy) tooLate() error {
	return refused("run %s is %s: there is nothing to order", p.in.Run, p.view.Status)
}

// handOn gives an order to the workflow of the run, when that is there.
func (p *proxy) handOn(ctx workflow.Context, name string, command Command) error {
	if err := workflow.Await(ctx, func() bool { return p.begun || p.ended }); err != nil {
		return err
	}
	if !p.begun {
		return p.tooLate()
	}
	handed := activities.HandOnInput{Workflow: WorkflowID(p.in.Run), Name: name, ID: workflow.GetCurrentUpdateInfo(ctx).ID, Command: command}
	err := workflow.ExecuteActivity(withActivity(ctx, "%s by %s", name, command.Actor), act.HandOn, handed).Get(ctx, nil)
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return application // without what it went through
	}
	if err != nil || p.ended {
		return err
	}
	switch name {
	case PauseUpdate:
		p.view.Status, p.view.Paused = attributes.Paused, cmp.Or(p.view.Paused, &command) // the run keeps its first pause
	case ContinueUpdate:
		p.view.Status, p.view.Paused = string(pipeline.Running), nil
	}
	return nil
}

// begin notes that the workflow of the run is there.
func (p *proxy) begin(ctx workflow.Context) {
	if p.begun {
		return
	}
	p.begun = true
	if p.view.Waits == "" {
		p.view.Status = string(pipeline.Running)
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("**%s** · running: the details of the workflow `%s` say how far it is", p.in.Pipeline, p.view.Workflow))
}

// end notes how the run ended, or that it did not begin.
func (p *proxy) end(ctx workflow.Context, status string, result RunResult, err error) {
	why := result.Reason
	if err != nil && why == "" {
		why = reason(err)
	}
	p.ended, p.view = true, View{Run: p.in.Run, Workflow: WorkflowID(p.in.Run), Status: status, Reason: activities.BeforeRun(why)}
	switch run, as := joinedIn(result, err); {
	case kind(err) == TypeKeyReused || kind(err) == activities.TypeExists: // the run is that of another start
		p.view.Run, p.view.Workflow = "", ""
	case run != "" && run != p.in.Run:
		p.view.Run, p.view.Workflow, p.view.Status = run, WorkflowID(run), as
	}
	p.in.detailEnd(ctx, status, why)
}

// joinedIn returns the run whose end a result or an error tells, and how it ended; nothing if an error tells of none.
func joinedIn(result RunResult, err error) (run, status string) {
	if err == nil {
		return result.Run, string(result.Status)
	}
	var problem activities.Problem
	application, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || !application.HasDetails() || application.Details(&problem) != nil || problem.Status == "" {
		return "", ""
	}
	return problem.Run, problem.Status
}
