package activities

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"

	"waymark/landscape"
)

// StarterSignal tells the workflow that somebody started for a run, under an id of their own, that the run waits for places, or does so no more: its
// argument is a Wait. Stored in histories; never rename.
const StarterSignal = "waits"

// Wait is what a run waits for.
type Wait struct {
	Reason string `json:"reason,omitempty"` // empty: it does not wait any more
	Joined string `json:"joined,omitempty"` // the run whose result is that of this one, which does not begin
}

// tellStarter tells how the run waits to the workflow that somebody started for it, if it is not the run's own. What fails costs nobody more than an
// answer of that workflow.
func (a *Activities) tellStarter(ctx context.Context, run string, wait Wait) {
	start, err := a.log.LastStart(ctx, run)
	if err == nil && start.Workflow != "" && start.Workflow != WorkflowID(run) {
		err = activity.GetClient(ctx).SignalWorkflow(ctx, start.Workflow, "", StarterSignal, wait)
	}
	gone := (*serviceerror.NotFound)(nil)
	if err != nil && !errors.Is(err, landscape.ErrNotFound) && !errors.As(err, &gone) {
		activity.GetLogger(ctx).Warn("who started the run is not told how it waits", "run", run, "error", err)
	}
}
