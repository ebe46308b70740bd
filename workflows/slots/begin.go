package slots

import (
	"context"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/internal/failpoint"
	"waymark/internal/temporal/cluster"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// act does what was decided, and what an earlier process that ended had decided.
func (k *Keeper) act(ctx context.Context, s *Schedule, l ledger, d decision) error {
	for run, why := range d.cancel {
		if err := k.cancel(ctx, run, why); err != nil {
			return err
		}
	}
	for _, slot := range l.slots {
		if slot.State == landscape.SlotRunning && l.outcomes[slot.Run].state == unknown {
			if err := failpoint.Hit("slot.taken"); err != nil {
				return err
			}
			if err := k.begin(ctx, s, slot, l.requests[slot.Request]); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin starts the workflow of the run of a slot, unless somebody has.
func (k *Keeper) begin(ctx context.Context, s *Schedule, slot landscape.Slot, request landscape.SlotRequest) error {
	named := s.Pipeline
	if request.Version != 0 {
		named = fmt.Sprintf("%s@%d", named, request.Version)
	}
	in := workflows.RunInput{OpenInput: activities.OpenInput{
		Run: slot.Run, Pipeline: named, Environment: s.Environment, ScheduleName: s.Name, For: slot.Name, Why: request.Why,
	}}
	reuse := enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	if slot.Seen == 0 {
		reuse = enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	}
	if err := workflows.Begin(ctx, k.Client, k.Queue, reuse, in); err != nil {
		return err
	}
	return failpoint.Hit("slot.started")
}

// cancel tells a run to stop, so that it can be resumed. One that has just ended is not there to be told.
func (k *Keeper) cancel(ctx context.Context, run, why string) error {
	order := workflows.Command{Actor: activities.Waymark, Why: why, As: pipeline.Cancelled}
	_, err := k.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflows.WorkflowID(run), UpdateName: workflows.CancelUpdate, Args: []any{order}, WaitForStage: client.WorkflowUpdateStageAccepted,
	})
	if cluster.Missing(err) {
		return nil
	}
	return err
}
