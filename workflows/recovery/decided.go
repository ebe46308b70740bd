package recovery

import (
	"context"
	"errors"
	"strings"

	"waymark/internal/temporal/cluster"
	"waymark/landscape"
	"waymark/workflows"
)

// openRuns finds the open workflows of runs.
const openRuns = "WorkflowType = '" + workflows.RunPipelineName + "' and ExecutionStatus = 'Running'"

// decided returns the runs that will never begin while their workflows still wait for places: somebody cancelled them
// when no worker was there, or died before the workflow knew.
func (a Abandoned) decided(ctx context.Context) (runs []string, err error) {
	for open, err := range cluster.Workflows(ctx, a.Client, openRuns) {
		if err != nil {
			return nil, err
		}
		run, ok := strings.CutPrefix(open.GetExecution().GetWorkflowId(), workflows.WorkflowID(""))
		if !ok {
			continue
		}
		start, err := a.Log.LastStart(ctx, run)
		switch {
		case errors.Is(err, landscape.ErrNotFound):
		case err != nil:
			return nil, err
		case start.Decided != 0 && start.State != landscape.StartBegun:
			runs = append(runs, run)
		}
	}
	return runs, nil
}
