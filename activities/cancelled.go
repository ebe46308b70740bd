package activities

import (
	"cmp"
	"context"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
)

// cancelEvents is how many of the last events of a history are searched for who cancelled the workflow. After that it ends within seconds.
const cancelEvents = 500

// cancelledBy says who cancelled the workflow of the activity in Temporal, and why, as far as Temporal knows. The workflow itself learns only that
// somebody did.
func cancelledBy(ctx context.Context) string {
	info := activity.GetInfo(ctx)
	said, err := cancellation(ctx, &common.WorkflowExecution{WorkflowId: info.WorkflowExecution.ID, RunId: info.WorkflowExecution.RunID})
	if err != nil {
		activity.GetLogger(ctx).Warn("who cancelled the workflow is unknown", "workflow", info.WorkflowExecution.ID, "error", err)
	}
	return "cancelled in Temporal" + said
}

// cancellation says it for one execution. One that a run's starter cancelled was cancelled by who cancelled that.
func cancellation(ctx context.Context, execution *common.WorkflowExecution) (string, error) {
	event, err := lastCancel(ctx, execution)
	if err != nil || event == nil {
		return "", err
	}
	cancel := event.GetWorkflowExecutionCancelRequestedEventAttributes()
	if parent := cancel.GetExternalWorkflowExecution(); parent.GetWorkflowId() != "" {
		if said, err := cancellation(ctx, parent); err != nil || said != "" {
			return said, err
		}
		return " by workflow " + parent.GetWorkflowId(), nil
	}
	_, user := doorOf(cancel.GetIdentity())
	said := " by " + cmp.Or(event.GetPrincipal().GetName(), user, "somebody")
	if cancel.GetCause() != "" {
		said += ": " + cancel.GetCause()
	}
	return said, nil
}

// lastCancel returns the event with which somebody cancelled an execution; nil if none of its last events is one.
func lastCancel(ctx context.Context, execution *common.WorkflowExecution) (*history.HistoryEvent, error) {
	answer, err := serviceOf(ctx).GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: activity.GetInfo(ctx).Namespace, Execution: execution, MaximumPageSize: cancelEvents,
	})
	if err != nil {
		return nil, err
	}
	for _, event := range answer.GetHistory().GetEvents() {
		if event.GetWorkflowExecutionCancelRequestedEventAttributes() != nil {
			return event, nil
		}
	}
	return nil, nil
}
