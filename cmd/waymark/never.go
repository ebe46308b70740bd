package main

import (
	"context"
	"fmt"
	"strings"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"waymark/internal/temporal/cluster"
	"waymark/internal/temporal/codec"
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
	defer p.client.Close()
	for _, id := range []string{workflows.WorkflowID(word), word} {
		execution, known, err := cluster.Latest(ctx, p.client, id)
		if err != nil || !known {
			continue
		}
		if execution.Open() {
			why := p.unread(ctx, id)
			if why == "" {
				why = "waymark follow shows how it goes on"
			}
			return fmt.Errorf("run %s is not on record yet; its workflow %s is open: %s", word, id, why)
		}
		if execution.Status != enums.WORKFLOW_EXECUTION_STATUS_FAILED {
			continue
		}
		if err := p.client.GetWorkflow(ctx, id, execution.ID).Get(ctx, nil); err != nil {
			return fmt.Errorf("run %s is not on record; its workflow %s failed: %s", word, id, cause(err))
		}
	}
	return missing
}

// lastEvents is how many events of a history are looked at for the reason why a run does not go on.
const lastEvents = 10

// unread says that no worker could read the workflow the last time that one took it; nothing if that is not so.
func (p *post) unread(ctx context.Context, id string) string {
	description, err := p.client.DescribeWorkflowExecution(ctx, id, "")
	if err != nil || description.GetPendingWorkflowTask().GetAttempt() < 2 {
		return ""
	}
	answer, err := p.client.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: p.namespace, Execution: &common.WorkflowExecution{WorkflowId: id}, MaximumPageSize: lastEvents,
	})
	if err != nil {
		return ""
	}
	for _, event := range answer.GetHistory().GetEvents() {
		failed := event.GetWorkflowTaskFailedEventAttributes()
		if failure := failed.GetFailure(); failure.GetApplicationFailureInfo().GetType() == codec.TypeUnreadable {
			return fmt.Sprintf("%sworker %s could not read the run: %s", waitingWord, failed.GetIdentity(), strings.TrimSpace(failure.GetMessage()))
		}
	}
	return ""
}
