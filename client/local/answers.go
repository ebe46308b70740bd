package local

import (
	"context"
	"slices"
	"strings"
	"sync"

	"go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"waymark/internal/defect"
	"waymark/internal/temporal/embedded"
	"waymark/worker"
	"waymark/workflows"
)

// maxAnswering bounds how many runs have a worker that answers for them.
const maxAnswering = 8

// answers lets a server answer questions about runs that ended in processes of their own: each has a task queue that its process polled, and that
// somebody must poll for an answer. The runs that were asked about last have a worker for that.
type answers struct {
	mu      sync.Mutex
	client  sdk.Client   // nil until the server answers
	workers []*answering // the one that was asked longest ago first
	closing sync.WaitGroup
}

type answering struct {
	queue string
	sdkworker.Worker
}

// connect makes answers possible. Close the answers before the server stops.
func (a *answers) connect(ctx context.Context, server *embedded.Server) error {
	c, err := server.Client(ctx, sdk.Options{})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client = c
	return err
}

// asked starts a worker for the execution that is asked, if it needs one. A question about what is not there gets its answer from the server.
func (a *answers) asked(ctx context.Context, workflow, execution string) error {
	run, ok := strings.CutPrefix(workflow, workflows.WorkflowID(""))
	if !ok {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.client == nil {
		return nil
	}
	found, err := a.client.DescribeWorkflowExecution(ctx, workflow, execution)
	if err != nil {
		return nil // the server says it as well
	}
	info, queue := found.GetWorkflowExecutionInfo(), workflows.ProcessQueue(run)
	if info.GetTaskQueue() != queue || info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING { // a worker would execute that
		return nil
	}
	return a.attend(queue)
}

func (a *answers) attend(queue string) error {
	if i := slices.IndexFunc(a.workers, func(w *answering) bool { return w.queue == queue }); i >= 0 {
		latest := a.workers[i]
		a.workers = append(slices.Delete(a.workers, i, i+1), latest)
		return nil
	}
	w := &answering{queue, worker.NewAnswering(a.client, queue)}
	if err := w.Start(); err != nil {
		return err
	}
	if a.workers = append(a.workers, w); len(a.workers) > maxAnswering {
		a.closing.Go(defect.Guard("stop", a.workers[0].Stop))
		a.workers = slices.Delete(a.workers, 0, 1)
	}
	return nil
}

// close stops the workers.
func (a *answers) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.workers {
		a.closing.Go(defect.Guard("stop", w.Stop))
	}
	a.closing.Wait()
	if a.client != nil {
		a.client.Close()
		a.client = nil
	}
}
