package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Worker is a process that asked for work on a task queue a short while ago.
type Worker struct {
	Identity string // as it calls itself
	Build    string // of a worker with versions: its deployment and build id
	Seen     time.Time

	Deployment string // of a worker with versions

	Facts map[string]string // which the workers of a queue have in common; nil if it says none
}

// Facts of workers, as their identities have them.
const (
	FactLandscape = "landscape" // the id of its landscape
	FactValues    = "values"    // a keyed digest of what it gives to documents
)

// FactsText is what stands behind the identity of a worker. No fact has spaces.
func FactsText(facts map[string]string) (text string) {
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		text += " " + name + "=" + facts[name]
	}
	return text
}

// identified returns the identity of a worker without its facts, and these.
func identified(text string) (identity string, facts map[string]string) {
	words := strings.Fields(text)
	for i, word := range words {
		if name, value, is := strings.Cut(word, "="); is && i > 0 {
			if facts == nil {
				facts = map[string]string{}
			}
			facts[name] = value
		}
	}
	if facts == nil {
		return text, nil
	}
	return words[0], facts
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
		identity, facts := identified(poller.GetIdentity())
		workers = append(workers, Worker{
			Identity: identity, Build: build(poller), Seen: seen, Deployment: poller.GetDeploymentOptions().GetDeploymentName(), Facts: facts,
		})
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

// Current returns the deployment and build id of the version of a deployment that gets new workflows, as of Worker.Build;
// "" if none does: they wait until one is made the current one.
func Current(ctx context.Context, c client.Client, namespace, deployment string) (string, error) {
	answer, err := c.WorkflowService().DescribeWorkerDeployment(ctx, &workflowservice.DescribeWorkerDeploymentRequest{
		Namespace: namespace, DeploymentName: deployment,
	})
	version := answer.GetWorkerDeploymentInfo().GetRoutingConfig().GetCurrentDeploymentVersion()
	if err != nil || version.GetBuildId() == "" {
		return "", err
	}
	return version.GetDeploymentName() + " " + version.GetBuildId(), nil
}

// oftenTried is how often the task of a workflow is tried in vain until that deserves a look: workers come and go. longTried is the same of an
// activity, which is tried again after seconds: about a minute.
const (
	oftenTried = 5
	longTried  = 10
)

// Stuck returns the ids of open workflows that a query finds whose next task, or one of whose activities, was tried often, and that no worker
// could do, ordered by id. It looks at no more than most.
func Stuck(ctx context.Context, c client.Client, query string, most int) (ids []string, err error) {
	for open, err := range Workflows(ctx, c, query) {
		if err != nil {
			return nil, err
		}
		if most--; most < 0 {
			break
		}
		execution := open.GetExecution()
		answer, err := c.DescribeWorkflowExecution(ctx, execution.GetWorkflowId(), execution.GetRunId())
		if err != nil && !Missing(err) {
			return nil, err
		}
		failing := slices.ContainsFunc(answer.GetPendingActivities(), func(a *workflow.PendingActivityInfo) bool { return a.GetAttempt() >= longTried })
		if failing || answer.GetPendingWorkflowTask().GetAttempt() >= oftenTried {
			ids = append(ids, execution.GetWorkflowId())
		}
	}
	slices.Sort(ids)
	return ids, nil
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
