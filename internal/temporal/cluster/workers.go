package cluster

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Worker is a process that asked for work on a task queue a short while ago.
type Worker struct {
	Identity string // as it calls itself
	Build    string // of a worker with versions: its deployment and build id
	Seen     time.Time
}

// silence is after how long a worker that did not ask for work is taken for gone. One that is there, and has nothing to do, asks every
// minute; the cluster keeps one that is gone for about five minutes.
const silence = 70 * time.Second

// Workers returns the workers that take this kind of work from the queue, ordered by identity; nil if nobody does. One that is gone
// may be among them for 70 s: Seen says when it was heard last.
func Workers(ctx context.Context, c client.Client, queue string, kind enums.TaskQueueType) ([]Worker, error) {
	answer, err := c.DescribeTaskQueue(ctx, queue, kind)
	if err != nil {
		return nil, err
	}
	var workers []Worker
	for _, poller := range answer.GetPollers() {
		seen := poller.GetLastAccessTime().AsTime()
		if time.Since(seen) > silence {
			continue
		}
		workers = append(workers, Worker{Identity: poller.GetIdentity(), Build: build(poller), Seen: seen})
	}
	slices.SortFunc(workers, func(a, b Worker) int { return strings.Compare(a.Identity, b.Identity) })
	return workers, nil
}

// Backlog is work that waits on a task queue for a worker, about.
type Backlog struct {
	Tasks int64
	Age   time.Duration // of the oldest
}

// BacklogOf returns what waits of this kind of work on a queue of a namespace.
func BacklogOf(ctx context.Context, c client.Client, namespace, queue string, kind enums.TaskQueueType) (Backlog, error) {
	answer, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: queue}, TaskQueueType: kind, ReportStats: true,
	})
	stats := answer.GetStats()
	return Backlog{stats.GetApproximateBacklogCount(), stats.GetApproximateBacklogAge().AsDuration()}, err
}

func build(poller *taskqueue.PollerInfo) string {
	options := poller.GetDeploymentOptions()
	if options.GetBuildId() == "" {
		return ""
	}
	return options.GetDeploymentName() + " " + options.GetBuildId()
}

// Execution is the workflow that executes a run, or did so last.
type Execution struct {
	ID     string // of this execution; another one for each time that the run is resumed
	Status enums.WorkflowExecutionStatus
	Queue  string
}

// Open reports whether the workflow has not ended: somebody works for the run, or will as soon as there is a worker.
func (e Execution) Open() bool { return e.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING }

// Printable reports whether a text is of printable ASCII characters. Temporal takes a workflow with another id, but gives no worker its tasks and answers
// no question about it: the id does not fit into the headers with which its services ask each other.
func Printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// Latest returns the latest execution of the workflow, and false if the cluster has none, or none any more. Of an id that is not Printable it has none.
func Latest(ctx context.Context, c client.Client, workflow string) (Execution, bool, error) {
	if !Printable(workflow) {
		return Execution{}, false, nil
	}
	answer, err := c.DescribeWorkflowExecution(ctx, workflow, "")
	if Missing(err) {
		return Execution{}, false, nil
	}
	if err != nil {
		return Execution{}, false, err
	}
	info := answer.GetWorkflowExecutionInfo()
	return Execution{ID: info.GetExecution().GetRunId(), Status: info.GetStatus(), Queue: info.GetTaskQueue()}, true, nil
}
