package recovery

import (
	"context"
	"strings"

	"waymark/internal/temporal/cluster"
	"waymark/workflows"
)

// processEnded says of a workflow, or of a run, that the process that executed it by itself ended without closing it.
const processEnded = "the process that worked for it ended"

// closeOrphans closes the workflows that such processes left open. No worker polls their queues; and while this one
// works there is no such process: a Temporal server of a state folder has one at a time.
func (a Abandoned) closeOrphans(ctx context.Context) error {
	for open, err := range cluster.Workflows(ctx, a.Client, openRuns) {
		if err != nil {
			return err
		}
		execution := open.GetExecution()
		run, ok := strings.CutPrefix(execution.GetWorkflowId(), workflows.WorkflowID(""))
		if !ok || open.GetTaskQueue() != workflows.ProcessQueue(run) {
			continue
		}
		err := a.Client.TerminateWorkflow(ctx, execution.GetWorkflowId(), execution.GetRunId(), processEnded)
		if err != nil && !cluster.Missing(err) {
			return err
		}
	}
	return nil
}
