package client

import (
	"context"
	"fmt"

	"go.temporal.io/api/enums/v1"

	"waymark/internal/temporal/cluster"
	"waymark/pipeline"
	"waymark/workflows"
)

// unrecorded says of a run that is not recorded what the cluster knows of it: its workflow may have failed before it was. word is the id
// of a run, or that of a workflow that somebody started. If there is no more to say, it returns missing.
func (c *Client) unrecorded(ctx context.Context, word string, missing error) error {
	if word == pipeline.LastRun {
		return missing
	}
	executor, err := c.host.Reach(ctx)
	if err != nil || executor == nil {
		return missing
	}
	defer executor.Close()
	if executor.Process != 0 {
		return missing
	}
	for _, id := range []string{workflows.WorkflowID(word), word} {
		execution, known, err := cluster.Latest(ctx, executor.Temporal, id)
		if err != nil || !known {
			continue
		}
		if execution.Open() {
			open := &Error{Kind: Unavailable, Code: RunWaiting, Run: word, Message: fmt.Sprintf("run %s is not recorded yet; its workflow %s is open", word, id)}
			if why := executor.Unreadable(ctx, id); why != "" {
				open.Message += ": " + WaitingWord + why
			} else {
				open.Cure = Join
			}
			return open
		}
		if execution.Status != enums.WORKFLOW_EXECUTION_STATUS_FAILED {
			continue
		}
		if err := executor.Temporal.GetWorkflow(ctx, id, execution.ID).Get(ctx, nil); err != nil {
			message := fmt.Sprintf("run %s is not recorded; its workflow %s failed: %s", word, id, Cause(err))
			return &Error{Kind: Failed, Code: RunFailed, Run: word, Message: message, Err: err}
		}
	}
	return missing
}
