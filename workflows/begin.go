package workflows

import (
	"context"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Begin starts the workflow of a run on a queue, unless one is open, or one is closed and reuse rejects a second one:
// neither is an error. It may be repeated.
func Begin(ctx context.Context, c client.Client, queue string, reuse enums.WorkflowIdReusePolicy, in RunInput) error {
	_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: WorkflowID(in.Run), TaskQueue: queue, WorkflowIDReusePolicy: reuse, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary: Summary(in.Pipeline, in.Run), StaticDetails: Details(in.Pipeline, in.Run, nil), Memo: MemoOf(in.Pipeline, in.Run),
	}, RunPipelineName, in)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return nil
	}
	return err
}
