package activities

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
)

// Signals between the workflow of a run and those whose result is that of the run. Stored in histories; never rename.
const (
	// JoinedSignal tells the workflow of a run that another one waits for the run's end: its argument is a Joiner.
	JoinedSignal = "joined"
	// EndedSignal tells the other one that the run ended, or did not begin: the record says how.
	EndedSignal = "ended"
)

// Joiner is a workflow that waits for the end of a run.
type Joiner struct {
	Workflow string `json:"workflow"` // its id
}

// join tells the workflow of a run who waits for the run's end, and reports whether that workflow is there.
func (a *Activities) join(ctx context.Context, run string) bool {
	joiner := Joiner{activity.GetInfo(ctx).WorkflowExecution.ID}
	err := activity.GetClient(ctx).SignalWorkflow(ctx, WorkflowID(run), "", JoinedSignal, joiner)
	if gone := (*serviceerror.NotFound)(nil); err != nil && !errors.As(err, &gone) {
		activity.GetLogger(ctx).Warn("the run does not know who waits for its end", "run", run, "error", err)
	}
	return err == nil
}

// tellEnded tells workflows that the run for whose end they wait has ended. What fails costs time alone: each looks again by itself.
func (a *Activities) tellEnded(ctx context.Context, joiners []string) {
	for _, workflow := range joiners {
		err := activity.GetClient(ctx).SignalWorkflow(ctx, workflow, "", EndedSignal, nil)
		if gone := (*serviceerror.NotFound)(nil); err != nil && !errors.As(err, &gone) {
			activity.GetLogger(ctx).Warn("who waits for the end of the run is not told", "workflow", workflow, "error", err)
		}
	}
}
