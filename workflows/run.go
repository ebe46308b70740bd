package workflows

import (
	"errors"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/pipeline"
	"waymark/plugin"
)

// RunInput starts a run.
type RunInput struct {
	activities.OpenInput
	// State is what a run that continues as new hands on; nil at the beginning.
	State *State `json:"state,omitempty"`
}

// State is everything a run's workflow knows, at a moment when no chunk is on its way. It is all that is handed on when
// the run continues as new.
type State struct {
	Plan    activities.OpenResult `json:"plan"`
	Cursor  plugin.Cursor         `json:"cursor"`
	Chunk   int64                 `json:"chunk"` // ordinal of the next chunk
	AtEnd   bool                  `json:"at_end,omitempty"`
	Outputs []Output              `json:"outputs"` // one for each sink of the plan, in its order
	Progress
}

// Output is where a sink's next part belongs.
type Output struct {
	Ordinal int64 `json:"ordinal"`
	Offset  int64 `json:"offset"`
	Rows    int64 `json:"rows"`
}

// Progress counts rows. Rows in chunks that are on their way are in Read only.
type Progress struct {
	Read    int64 `json:"read"`
	Done    int64 `json:"done"`
	Refused int64 `json:"refused"`
	Bytes   int64 `json:"bytes"` // of decoded source text
}

// RunResult is how a run ended.
type RunResult struct {
	Run     string             `json:"run"`
	Status  pipeline.RunStatus `json:"status"`
	Rows    int64              `json:"rows"`
	Refused int64              `json:"refused"`
}

// RunPipeline is the workflow of one run. It returns an error only after the run's record says why the run stopped.
func RunPipeline(ctx workflow.Context, in RunInput) (RunResult, error) {
	if in.Run == "" {
		in.Run = newRunID(ctx)
	}
	result, err := runPipeline(ctx, in)
	if err == nil || workflow.IsContinueAsNewError(err) {
		return result, err
	}
	if unrecorded := stop(ctx, in.Run, err); unrecorded != nil {
		return result, errors.Join(err, unrecorded)
	}
	return result, err
}

func runPipeline(ctx workflow.Context, in RunInput) (RunResult, error) {
	if in.State == nil {
		state, err := open(ctx, in.OpenInput)
		if err != nil {
			return RunResult{}, err
		}
		in.State = state
	}
	flow := newFlow(in.Run, in.State)
	if err := workflow.SetQueryHandler(ctx, ProgressQuery, flow.progress); err != nil {
		return RunResult{}, err
	}
	if err := flow.run(ctx); err != nil {
		return RunResult{}, err
	}
	if !flow.state.AtEnd {
		return RunResult{}, workflow.NewContinueAsNewError(ctx, RunPipelineName, in)
	}
	return finish(ctx, in)
}

func open(ctx workflow.Context, in activities.OpenInput) (*State, error) {
	var plan activities.OpenResult
	if err := workflow.ExecuteActivity(withActivity(ctx, "open run"), act.OpenRun, in).Get(ctx, &plan); err != nil {
		return nil, err
	}
	state := &State{Plan: plan, Outputs: make([]Output, len(plan.Sinks))}
	for i, sink := range plan.Sinks {
		state.Outputs[i].Offset = sink.HeaderBytes
	}
	return state, nil
}

// finish publishes every sink and concludes the run. Sinks are published only now, when all rows are accounted for.
func finish(ctx workflow.Context, in RunInput) (RunResult, error) {
	var published []workflow.Future
	for _, sink := range in.State.Plan.Sinks {
		named := activities.SinkInput{Run: in.Run, Sink: sink.Name}
		published = append(published, workflow.ExecuteActivity(withActivity(ctx, "publish %s", sink.Name), act.PublishSink, named))
	}
	for _, future := range published {
		if err := future.Get(ctx, nil); err != nil {
			return RunResult{}, err
		}
	}
	var finished activities.FinishResult
	future := workflow.ExecuteActivity(withActivity(ctx, "balance and conclude"), act.FinishRun, activities.FinishInput{Run: in.Run})
	if err := future.Get(ctx, &finished); err != nil {
		return RunResult{}, err
	}
	return RunResult{Run: in.Run, Status: finished.Status, Rows: in.State.Read, Refused: in.State.Refused}, nil
}

// stop records why the run ended. It runs on a context of its own, because the run's may be cancelled.
func stop(ctx workflow.Context, run string, cause error) error {
	in := activities.StopInput{Run: run, Status: pipeline.Failed, Reason: reason(cause)}
	if temporal.IsCanceledError(cause) {
		in.Status, in.Reason = pipeline.Cancelled, "it was cancelled from outside"
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	return workflow.ExecuteActivity(withActivity(ctx, "record the stop"), act.StopRun, in).Get(ctx, nil)
}

// reason returns the message of the error that began it, without Temporal's wrapping.
func reason(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Message()
	}
	return err.Error()
}

func newRunID(ctx workflow.Context) string {
	var id string
	encoded := workflow.SideEffect(ctx, func(workflow.Context) any { return uuid.Must(uuid.NewV7()).String() })
	if err := encoded.Get(&id); err != nil {
		panic(err) // a string always decodes
	}
	return id
}
