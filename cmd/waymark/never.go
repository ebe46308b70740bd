package main

import (
	"context"
	"fmt"

	"go.temporal.io/api/enums/v1"

	"waymark/internal/temporal/cluster"
	"waymark/pipeline"
	"waymark/workflows"
)

// never says of a run that is not on record what the cluster knows of it: its workflow may have failed before the record began. word
// is the id of a run, or that of a workflow that somebody started. missing says that the run is not on record, and comes back if
// there is no more to say.
func (a *app) never(ctx context.Context, word string, missing error) error {
	if missing == nil || !a.onCluster() || word == pipeline.LastRun {
		return missing
	}
	p, err := a.dialCluster(ctx)
	if err != nil {
		return missing
	}
	defer p.Temporal.Close()
	for _, id := range []string{workflows.WorkflowID(word), word} {
		execution, known, err := cluster.Latest(ctx, p.Temporal, id)
		if err != nil || !known {
			continue
		}
		if execution.Open() {
			why := p.Unreadable(ctx, id)
			if why == "" {
				why = "waymark follow shows how it goes on"
			} else {
				why = waitingWord + why
			}
			return fmt.Errorf("run %s is not on record yet; its workflow %s is open: %s", word, id, why)
		}
		if execution.Status != enums.WORKFLOW_EXECUTION_STATUS_FAILED {
			continue
		}
		if err := p.Temporal.GetWorkflow(ctx, id, execution.ID).Get(ctx, nil); err != nil {
			return fmt.Errorf("run %s is not on record; its workflow %s failed: %s", word, id, cause(err))
		}
	}
	return missing
}
