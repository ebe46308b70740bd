package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"waymark/internal/temporal/cluster"
)

// asked is when workers asked for work.
var asked = time.Now().UTC()

func (frontend) DescribeTaskQueue(_ context.Context, in *workflowservice.DescribeTaskQueueRequest) (*workflowservice.DescribeTaskQueueResponse, error) {
	if in.GetTaskQueue().GetName() != "waymark" || in.GetTaskQueueType() != enums.TASK_QUEUE_TYPE_ACTIVITY {
		return &workflowservice.DescribeTaskQueueResponse{}, nil
	}
	if in.GetReportStats() {
		return &workflowservice.DescribeTaskQueueResponse{Stats: &taskqueue.TaskQueueStats{ApproximateBacklogCount: 7, ApproximateBacklogAge: durationpb.New(90 * time.Second)}}, nil
	}
	versions := &deployment.WorkerDeploymentOptions{DeploymentName: "waymark", BuildId: "v2"}
	return &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueue.PollerInfo{
		{Identity: "2@b landscape=7f values=", LastAccessTime: timestamppb.New(asked), DeploymentOptions: versions},
		{Identity: "1@a", LastAccessTime: timestamppb.New(asked)},
		{Identity: "gone", LastAccessTime: timestamppb.New(asked.Add(-time.Hour))},
	}}, nil
}

func (frontend) DescribeWorkerDeployment(_ context.Context, in *workflowservice.DescribeWorkerDeploymentRequest) (*workflowservice.DescribeWorkerDeploymentResponse, error) {
	routing := &deployment.RoutingConfig{}
	if in.GetDeploymentName() == "waymark" {
		routing.CurrentDeploymentVersion = &deployment.WorkerDeploymentVersion{DeploymentName: "waymark", BuildId: "v1"}
	}
	return &workflowservice.DescribeWorkerDeploymentResponse{WorkerDeploymentInfo: &deployment.WorkerDeploymentInfo{RoutingConfig: routing}}, nil
}

func (frontend) DescribeWorkflowExecution(_ context.Context, in *workflowservice.DescribeWorkflowExecutionRequest) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	status, known := map[string]enums.WorkflowExecutionStatus{
		"run-1": enums.WORKFLOW_EXECUTION_STATUS_RUNNING, "run-2": enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, "run-9": enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}[in.GetExecution().GetWorkflowId()]
	if !known {
		return nil, serviceerror.ToStatus(serviceerror.NewNotFound("workflow not found")).Err()
	}
	activity := map[string]int32{"run-2": 9, "run-9": 10}[in.GetExecution().GetWorkflowId()]
	return &workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: []*workflow.PendingActivityInfo{{Attempt: activity}}, WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{RunId: "execution"}, Status: status, TaskQueue: "waymark",
	}, PendingWorkflowTask: &workflow.PendingWorkflowTaskInfo{Attempt: map[string]int32{"run-1": 12, "run-2": 2}[in.GetExecution().GetWorkflowId()]}}, nil
}

func (frontend) ListWorkflowExecutions(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	answer := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, id := range []string{"run-2", "gone", "run-1", "run-9"} {
		answer.Executions = append(answer.Executions, &workflow.WorkflowExecutionInfo{Execution: &common.WorkflowExecution{WorkflowId: id}})
	}
	return answer, nil
}

func TestStuckIsWhatNoWorkerCanDo(t *testing.T) {
	c := connected(t)
	for most, want := range map[int][]string{2: nil, 3: {"run-1"}, 4: {"run-1", "run-9"}} {
		ids, err := cluster.Stuck(t.Context(), c, "", most)
		require.NoError(t, err)
		require.Equal(t, want, ids)
	}
}

// connected returns a client of a frontend.
func connected(t *testing.T) client.Client {
	t.Helper()
	o, err := cluster.Options(serve(t, frontend{}), with(t, nil))
	require.NoError(t, err)
	c, err := cluster.Dial(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestWorkersAreThoseOfTheQueue(t *testing.T) {
	c := connected(t)
	workers, err := cluster.Workers(t.Context(), c, "waymark", enums.TASK_QUEUE_TYPE_ACTIVITY)
	require.NoError(t, err)
	polling := []cluster.Worker{
		{Identity: "1@a", Seen: asked}, {Identity: "2@b", Build: "waymark v2", Seen: asked, Deployment: "waymark", Facts: map[string]string{"landscape": "7f", "values": ""}},
	}
	require.Equal(t, polling, workers, "one that is gone is not told")
	workers, err = cluster.Workers(t.Context(), c, "other", enums.TASK_QUEUE_TYPE_ACTIVITY)
	require.NoError(t, err)
	require.Nil(t, workers)
	for deployment, current := range map[string]string{"waymark": "waymark v1", "new": ""} {
		version, err := cluster.Current(t.Context(), c, "default", deployment)
		require.NoError(t, err)
		require.Equal(t, current, version)
	}
}

func TestLatestExecution(t *testing.T) {
	c := connected(t)
	for workflow, open := range map[string]bool{"run-1": true, "run-2": false} {
		execution, known, err := cluster.Latest(t.Context(), c, workflow)
		require.NoError(t, err)
		require.True(t, known)
		require.Equal(t, open, execution.Open())
		require.Equal(t, "execution", execution.ID)
		require.Equal(t, "waymark", execution.Queue)
	}
	_, known, err := cluster.Latest(t.Context(), c, "run-3")
	require.NoError(t, err, "no execution is an answer")
	require.False(t, known)
}

func TestBacklogIsThatOfTheQueue(t *testing.T) {
	c := connected(t)
	waits, err := cluster.BacklogOf(t.Context(), c, "default", "waymark", enums.TASK_QUEUE_TYPE_ACTIVITY)
	require.NoError(t, err)
	require.Equal(t, cluster.Backlog{7, 90 * time.Second}, waits)
	waits, err = cluster.BacklogOf(t.Context(), c, "default", "other", enums.TASK_QUEUE_TYPE_ACTIVITY)
	require.NoError(t, err)
	require.Zero(t, waits)
}
