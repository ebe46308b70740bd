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
	Sources []Reading             `json:"sources,omitempty"` // one for each source of the plan, in its order
	Outputs []Output              `json:"outputs"`           // one for each sink of the plan, in its order
	Held    []Holding             `json:"held,omitempty"`    // one for each barrier of the plan, in its order
	Progress

	// How far the only source is, in states of runs that began before there were several.
	Cursor *plugin.Cursor `json:"cursor,omitempty"`
	Chunk  int64          `json:"chunk,omitempty"`
	AtEnd  bool           `json:"at_end,omitempty"`
}

// Reading is how far a source is read.
type Reading struct {
	Source string        `json:"source"`
	Cursor plugin.Cursor `json:"cursor"`
	Chunk  int64         `json:"chunk"` // ordinal of the next chunk
	AtEnd  bool          `json:"at_end,omitempty"`
}

// Holding is how far a barrier is.
type Holding struct {
	Barrier  string               `json:"barrier"`
	Folds    int64                `json:"folds"`              // done
	Saved    activities.SavedFold `json:"saved"`              // the latest of its states that is stored
	Rows     int64                `json:"rows"`               // that came out
	Chunks   int64                `json:"chunks"`             // in which they came out
	Passed   int64                `json:"passed"`             // of these chunks
	Deadline int64                `json:"deadline,omitempty"` // when a batch is due, in microseconds since 1970; 0: none is
	Ended    bool                 `json:"ended,omitempty"`    // nothing will arrive any more, and nothing is held
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
	in.State.migrate()
	flow := newFlow(in.Run, in.State)
	if err := workflow.SetQueryHandler(ctx, ProgressQuery, flow.progress); err != nil {
		return RunResult{}, err
	}
	if err := flow.run(ctx); err != nil {
		return RunResult{}, err
	}
	if !flow.state.done() {
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
	for _, source := range append([]string{plan.Source}, plan.MoreSources...) {
		state.Sources = append(state.Sources, Reading{Source: source})
	}
	for _, barrier := range plan.Barriers {
		state.Held = append(state.Held, Holding{Barrier: barrier})
	}
	return state, nil
}

// migrate brings the state of a run that began before there were several sources into today's form.
func (s *State) migrate() {
	if s.Sources != nil {
		return
	}
	reading := Reading{Source: s.Plan.Source, Chunk: s.Chunk, AtEnd: s.AtEnd}
	if s.Cursor != nil {
		reading.Cursor = *s.Cursor
	}
	s.Sources, s.Cursor, s.Chunk, s.AtEnd = []Reading{reading}, nil, 0, false
}

// next returns the source that is read next: of those that are not at their end the one with the fewest chunks, the first
// of equals; nil if all are at their end.
func (s *State) next() *Reading {
	var next *Reading
	for i := range s.Sources {
		if reading := &s.Sources[i]; !reading.AtEnd && (next == nil || reading.Chunk < next.Chunk) {
			next = reading
		}
	}
	return next
}

// chunks returns how many chunks of sources were read.
func (s *State) chunks() int64 {
	var chunks int64
	for i := range s.Sources {
		chunks += s.Sources[i].Chunk
	}
	return chunks
}

// done reports whether all sources are at their end and all barriers are empty.
func (s *State) done() bool {
	for i := range s.Held {
		if !s.Held[i].Ended || s.Held[i].Passed < s.Held[i].Chunks {
			return false
		}
	}
	return s.next() == nil
}

// deadline returns the earliest moment at which a batch is due; 0 if none is.
func (s *State) deadline() int64 {
	var earliest int64
	for i := range s.Held {
		if at := s.Held[i].Deadline; at != 0 && (earliest == 0 || at < earliest) {
			earliest = at
		}
	}
	return earliest
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
