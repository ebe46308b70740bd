package system

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	sdk "go.temporal.io/sdk/client"

	"waymark/client"
	"waymark/client/local"
	"waymark/workflows"
)

// patience is how long a run may take before a test gives up.
const patience = 5 * time.Minute

// Open opens a client that ends with the test, for runs that worker processes of the test execute. The Session is its connection.
func Open(t testing.TB, o local.Options) (*local.Home, *client.Session) {
	t.Helper()
	home, err := local.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, home.Close()) })
	session, err := home.Session(context.WithoutCancel(t.Context()), client.ToStart)
	require.NoError(t, err)
	return home, session
}

// Begin starts a run.
func Begin(t testing.TB, c *client.Client, r client.StartRequest) *client.Execution {
	t.Helper()
	e, err := c.Start(t.Context(), r)
	require.NoError(t, err)
	return e
}

// Resume resumes a run that stopped.
func Resume(t testing.TB, c *client.Client, run, why string) *client.Execution {
	t.Helper()
	found, err := c.Find(t.Context(), run)
	require.NoError(t, err)
	resumed, err := c.Resume(t.Context(), found, client.ResumeRequest{By: client.By{Why: why}})
	require.NoError(t, err)
	require.NotNil(t, resumed.Execution, "there is something to resume")
	return resumed.Execution
}

// End follows a run to its end. The error is that of the workflow.
func End(t testing.TB, e *client.Execution) (workflows.RunResult, error) {
	t.Helper()
	ctx, done := context.WithTimeout(t.Context(), patience)
	defer done()
	var end *client.Ending
	for event, err := range e.Follow(ctx) {
		require.NoError(t, err)
		end = event.Ending
	}
	require.NoError(t, e.Close())
	require.False(t, end.Detached, "run %s did not end within %s", e.Run, patience)
	return end.Result, end.Err
}

// Execute starts a workflow, as anybody may who reaches Temporal: past the client, with an input of any shape. The id may be empty.
func Execute(t testing.TB, c sdk.Client, id string, input any) sdk.WorkflowRun {
	t.Helper()
	options := sdk.StartWorkflowOptions{ID: id, TaskQueue: workflows.TaskQueue}
	run, err := c.ExecuteWorkflow(t.Context(), options, workflows.RunPipelineName, input)
	require.NoError(t, err)
	return run
}

// Events returns the history of an execution of a workflow; "" is the latest.
func Events(t testing.TB, c sdk.Client, workflow, execution string) (events []*history.HistoryEvent) {
	t.Helper()
	iterator := c.GetWorkflowHistory(t.Context(), workflow, execution, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for iterator.HasNext() {
		event, err := iterator.Next()
		require.NoError(t, err)
		events = append(events, event)
	}
	return events
}

// Give gives an order to a workflow, and returns when it is obeyed.
func Give(t testing.TB, c sdk.Client, workflow, name string, order any) error {
	t.Helper()
	update, err := c.UpdateWorkflow(t.Context(), sdk.UpdateWorkflowOptions{
		WorkflowID: workflow, UpdateName: name, Args: []any{order}, WaitForStage: sdk.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return update.Get(t.Context(), nil)
}
