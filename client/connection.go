package client

import (
	"context"
	"fmt"
	"strings"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"waymark/internal/temporal/cluster"
	"waymark/internal/temporal/codec"
	"waymark/workflows"
)

// Connection is a connection to a Temporal server.
type Connection struct {
	Temporal  sdk.Client
	Converter converter.DataConverter    // of what the server stores
	Failures  converter.FailureConverter // of the failures that it stores
	Place     string                     // of the server, for people
	Namespace string

	options sdk.Options
}

// Connect returns the Connection of a client with these options. The caller closes the client.
func Connect(c sdk.Client, o sdk.Options, place string) *Connection {
	connection := &Connection{Temporal: c, Converter: o.DataConverter, Failures: o.FailureConverter, Place: place, Namespace: o.Namespace, options: o}
	if connection.Converter == nil {
		connection.Converter = converter.GetDefaultDataConverter()
	}
	if connection.Failures == nil {
		connection.Failures = temporal.GetDefaultFailureConverter()
	}
	return connection
}

// Open reports whether the server has an open workflow for the run: somebody executes it, or will as soon as there is a worker.
func (c *Connection) Open(ctx context.Context, run string) (bool, error) {
	execution, known, err := cluster.Latest(ctx, c.Temporal, workflows.WorkflowID(run))
	return known && execution.Open(), err
}

// Terminate ends the run's workflow, if it is open.
func (c *Connection) Terminate(ctx context.Context, run, why string) error {
	err := c.Temporal.TerminateWorkflow(ctx, workflows.WorkflowID(run), "", why)
	if cluster.Missing(err) {
		return nil
	}
	return err
}

// Unattended reports whether no worker listens on a queue; false also if that is not known.
func (c *Connection) Unattended(ctx context.Context, queue string) bool {
	for _, kind := range []enums.TaskQueueType{enums.TASK_QUEUE_TYPE_WORKFLOW, enums.TASK_QUEUE_TYPE_ACTIVITY} {
		workers, err := cluster.Workers(ctx, c.Temporal, queue, kind)
		if err != nil || len(workers) > 0 {
			return false
		}
	}
	return true
}

// recentEvents is how many events of a history are searched for the reason why a run does not go on.
const recentEvents = 10

// Unreadable returns why the last worker that took the workflow with this id could not read it; empty if that did not happen.
func (c *Connection) Unreadable(ctx context.Context, workflow string) string {
	description, err := c.Temporal.DescribeWorkflowExecution(ctx, workflow, "")
	if err != nil || description.GetPendingWorkflowTask().GetAttempt() < 2 {
		return ""
	}
	answer, err := c.Temporal.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: c.Namespace, Execution: &common.WorkflowExecution{WorkflowId: workflow}, MaximumPageSize: recentEvents,
	})
	if err != nil {
		return ""
	}
	for _, event := range answer.GetHistory().GetEvents() {
		failed := event.GetWorkflowTaskFailedEventAttributes()
		if failure := failed.GetFailure(); failure.GetApplicationFailureInfo().GetType() == codec.TypeUnreadable {
			return fmt.Sprintf("worker %s could not read the run: %s", failed.GetIdentity(), strings.TrimSpace(failure.GetMessage()))
		}
	}
	return ""
}
