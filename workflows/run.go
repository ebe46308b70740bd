package workflows

import (
	"errors"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/internal/temporal/attributes"
	"waymark/pipeline"
)

// RunInput starts a run.
type RunInput struct {
	activities.OpenInput
	// Resume resumes a run that is recorded; then only Run counts of OpenInput. Nil starts a run.
	Resume *activities.ResumeInput `json:"resume,omitempty"`
	// State is what a run that continues as new hands on; nil at the beginning. Nobody else is believed to know it.
	State *State `json:"state,omitempty"`

	faults  faults          // what is wrong with the input as it was written
	handler *commandHandler // takes the orders to the run; nil in the workflow of another id
}

// RunResult is how a run ended.
type RunResult struct {
	Run               string             `json:"run"`
	Status            pipeline.RunStatus `json:"status"`
	Rows              int64              `json:"rows"`
	Refused           int64              `json:"refused"`
	Reason            string             `json:"reason,omitempty"` // of a run that was cancelled, or did not begin: skipped or superseded
	activities.Ending                    // of a run that is complete
}

// RunAsked is RunPipeline as others ask Temporal for it.
func RunAsked(ctx workflow.Context, in RunInput, second converter.RawValue) (RunResult, error) {
	in.faults.more(second)
	return RunPipeline(ctx, in)
}

// RunPipeline is the workflow of one run. It returns an error only after the run's record says why the run stopped, or
// if its input is rejected or the run cannot be resumed; then the record stays as it is.
func RunPipeline(ctx workflow.Context, in RunInput) (RunResult, error) {
	if err := in.validate(ctx); err != nil {
		if failed := in.answerRefused(ctx, err); failed != nil {
			return RunResult{}, failed
		}
		return RunResult{}, refuse(ctx, in, err)
	}
	switch named := in.name(ctx); {
	case named && in.Key != "":
		return showStart(ctx, in, (*proxy).startKeyed)
	case named:
		return showStart(ctx, in, (*proxy).startNamed)
	}
	in.handler = &commandHandler{run: in.Run}
	result, err := runPipeline(ctx, &in)
	if in.State != nil {
		return conclude(ctx, in, result, err)
	}
	in.handler.close(err)
	result, err = conclude(ctx, in, result, err)
	if handled := awaitHandlers(ctx); err == nil {
		err = handled
	}
	return result, err
}

// answerRefused answers questions about an input of which no run comes.
func (in *RunInput) answerRefused(ctx workflow.Context, cause error) error {
	view := View{Status: attributes.Refused, Reason: reason(cause)}
	return workflow.SetQueryHandler(ctx, ProgressQuery, func() (View, error) { return view, nil })
}

func runPipeline(ctx workflow.Context, in *RunInput) (result RunResult, err error) {
	defer stopped(&err)
	if err := in.handler.listen(ctx); err != nil {
		return RunResult{}, err
	}
	if in.State == nil {
		state, labels, err := begin(ctx, in)
		if err != nil {
			return RunResult{}, err
		}
		in.State = state
		showRun(ctx, in.Run, labels, state.status())
	}
	flow := newFlow(in.Run, in.State)
	in.handler.to = flow
	flow.show(ctx)
	err = flow.run(ctx)
	if handled := awaitHandlers(ctx); err == nil {
		err = handled
	}
	switch {
	case flow.cancelled != nil:
		return cancel(ctx, *in, *flow.cancelled)
	case err != nil:
		return RunResult{}, err
	case !flow.state.done():
		in.State.Joiners = joiners(ctx, in.State)
		return RunResult{}, workflow.NewContinueAsNewError(ctx, RunPipelineName, *in)
	}
	return finish(ctx, *in)
}

// epoch returns the epoch that this execution of the run works in.
func (in *RunInput) epoch() int64 {
	switch {
	case in.State != nil:
		return in.State.Epoch
	case in.Resume != nil:
		return in.Resume.Epoch
	default:
		return 0
	}
}

// queue returns the queue of the workers that can reach all that the run reads and writes; "" is that of the workflow.
func (in *RunInput) queue() string {
	if in.State == nil {
		return ""
	}
	return in.State.Plan.Queue
}

func (in *RunInput) result(status pipeline.RunStatus) RunResult {
	result := RunResult{Run: in.Run, Status: status}
	if in.State != nil {
		result.Rows, result.Refused = in.State.Read, in.State.Refused
	}
	return result
}

// kind returns the type of the error that began it; empty if it has none.
func kind(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Type()
	}
	return ""
}

// reason returns the message of the error that began it, without Temporal's wrapping.
func reason(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Message()
	}
	return err.Error()
}
