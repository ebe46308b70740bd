package tests

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/query/v1"
	"go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"

	"waymark/activities"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/system"
	"waymark/workflows"
)

// updates has a workflow asked for an update with payloads as they are, and returns the refusal; "" if there is none.
func (d door) updates(t *testing.T, id, name string, input []*common.Payload) string {
	t.Helper()
	request := &workflowservice.UpdateWorkflowExecutionRequest{
		Namespace: d.Namespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: id},
		WaitPolicy: &update.WaitPolicy{LifecycleStage: enums.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED},
		Request: &update.Request{
			Meta:  &update.Meta{UpdateId: uuid.NewString(), Identity: "a stranger"},
			Input: &update.Input{Name: name, Args: &common.Payloads{Payloads: input}},
		},
	}
	for { // Temporal answers without an outcome when it has waited for long: the same id asks for the same update
		answer, err := d.Temporal.WorkflowService().UpdateWorkflowExecution(t.Context(), request)
		if err != nil {
			return err.Error()
		}
		if outcome := answer.GetOutcome(); outcome != nil {
			return outcome.GetFailure().GetMessage()
		}
	}
}

// orderInputs are inputs of orders that make no sense, besides those that no input makes.
var orderInputs = map[string]string{
	"no reason":         `{"actor":"a"}`,
	"no actor":          `{"why":"w"}`,
	"an empty actor":    `{"actor":" ","why":"w"}`,
	"a longer reason":   `{"actor":"a","why":"` + strings.Repeat("w", 70_000) + `"}`,
	"another state":     `{"actor":"a","why":"w","as":"completed"}`,
	"an actor in a map": `{"actor":{"a":1},"why":"w"}`,
}

// TestAStrangersOrders sends a paused run signals, updates and queries that make no sense, also very many, and then one
// order whose words are as long as any may be. The run answers, obeys the last, and completes.
func TestAStrangersOrders(t *testing.T) {
	t.Parallel()
	d := strange(t)
	const id = "run-r"
	handle := d.paused(t, id, "r", many)

	for _, name := range []string{
		workflows.PauseUpdate, workflows.ContinueUpdate, workflows.CancelUpdate, "none", "__temporal",
	} {
		for what, input := range sampled(3, anyInputs()) {
			require.NotEmpty(t, d.updates(t, id, name, input), "%s with %s", name, what)
		}
		for what, text := range orderInputs {
			require.NotEmpty(t, d.updates(t, id, name, plainJSON(text)), "%s with %s", name, what)
		}
	}
	service, run := d.Temporal.WorkflowService(), &common.WorkflowExecution{WorkflowId: id}
	signals := []string{
		activities.AdmittedSignal, activities.StarterSignal, activities.JoinedSignal, activities.EndedSignal, "none",
	}
	for what, input := range sampled(3, anyInputs()) {
		args := &common.Payloads{Payloads: input}
		for _, name := range []string{workflows.ProgressQuery, "none", "__stack_trace"} {
			_, err := service.QueryWorkflow(t.Context(), &workflowservice.QueryWorkflowRequest{
				Namespace: d.Namespace, Execution: run, Query: &query.WorkflowQuery{QueryType: name, QueryArgs: args},
			})
			require.Equal(t, name == "none", err != nil, "%s with %s: %v", name, what, err)
		}
		for _, name := range signals {
			_, err := service.SignalWorkflowExecution(t.Context(), &workflowservice.SignalWorkflowExecutionRequest{
				Namespace: d.Namespace, WorkflowExecution: run, SignalName: name, Input: args,
			})
			require.NoError(t, err, "%s with %s", name, what)
		}
	}
	for range 1000 / sample.Step(20) {
		require.NoError(t, d.Temporal.SignalWorkflow(t.Context(), id, "", activities.JoinedSignal,
			activities.Joiner{Workflow: strings.Repeat("w", 10_000) + uuid.NewString()}))
	}
	actions, err := d.Log.Actions(t.Context(), "r")
	require.NoError(t, err)
	require.Len(t, actions, 1, "nothing is recorded of what is refused")

	long := workflows.Command{Actor: strings.Repeat("<é", 1_000), Why: strings.Repeat("w", 50_000)}
	require.NoError(t, system.Give(t, d.Temporal, id, workflows.ContinueUpdate, long))
	require.Equal(t, pipeline.Completed, result(t, handle).Status)
	require.NoError(t, d.closes(t, id, "orders"))
	actions, err = d.Log.Actions(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, long.Actor, actions[len(actions)-1].Actor)
	late := d.updates(t, id, workflows.CancelUpdate, plainJSON(`{"actor":"a","why":"w"}`))
	require.Contains(t, late, "already completed")
	d.Verify(t, "r")
}
