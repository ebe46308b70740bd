package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"waymark/internal/temporal/embedded"
	"waymark/workflows"
)

const (
	// reachPatience is how long it may take to find out what another process does.
	reachPatience = 5 * time.Second
	// updatePatience is how long whoever works for a run may take to obey an order.
	updatePatience = 30 * time.Second
)

// attendant is who may work for a run besides this process: another process that uses the state folder, or the workers of a
// cluster.
type attendant struct {
	*post                     // nil of a process that has just begun
	process *embedded.Process // nil of a cluster
}

// reach connects to the process that uses the state folder, or to the cluster; nil if no process does. Close it.
func (a *app) reach(ctx context.Context) (*attendant, error) {
	if a.onCluster() {
		p, err := a.dialCluster(ctx)
		if err != nil {
			return nil, err
		}
		return &attendant{post: p}, nil
	}
	process, held, err := embedded.Holder(a.inState("temporal.db"))
	if err != nil || !held {
		return nil, err
	}
	return a.connect(ctx, process)
}

// connect connects to a process that uses the state folder.
func (a *app) connect(ctx context.Context, process embedded.Process) (*attendant, error) {
	found := &attendant{process: &process}
	if process.Address == "" {
		return found, nil // it has just begun
	}
	ctx, done := context.WithTimeout(ctx, reachPatience)
	defer done()
	c, err := embedded.Dial(ctx, process.Address, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("process %d uses the state folder and does not answer at %s: %w", process.PID, process.Address, err)
	}
	found.post = newPost(c, client.Options{}, fmt.Sprintf("process %d", process.PID))
	return found, nil
}

func (w *attendant) close() {
	if w.post != nil {
		w.client.Close()
	}
}

// name is who it is, for people.
func (w *attendant) name() string {
	if w.process == nil {
		return "the cluster"
	}
	return fmt.Sprintf("process %d", w.process.PID)
}

// worksFor reports whether it works for the run. In a process a workflow can be open that nobody works for; on a cluster any worker
// that comes does.
func (w *attendant) worksFor(ctx context.Context, run string) (bool, error) {
	if w.post == nil {
		return false, nil
	}
	ctx, done := context.WithTimeout(ctx, reachPatience)
	defer done()
	if w.process == nil {
		return w.open(ctx, run)
	}
	queue, err := w.client.DescribeTaskQueue(ctx, queueOf(run), 0)
	if err != nil {
		return false, fmt.Errorf("%s uses the state folder and does not answer: %w", w.name(), err)
	}
	return len(queue.GetPollers()) > 0, nil
}

// heard refuses what needs a worker, if there is none; in a process there is one.
func (w *attendant) heard(ctx context.Context, run, queue string) error {
	if w.process != nil || !w.workerless(ctx, queue) {
		return nil
	}
	return fmt.Errorf("run %s waits for a worker, and none listens on queue %s: start one with waymark worker", run, queue)
}

// view asks how the run is.
func (w *attendant) view(ctx context.Context, run string) (workflows.View, error) {
	ctx, done := context.WithTimeout(ctx, reachPatience)
	defer done()
	var view workflows.View
	answer, err := w.client.QueryWorkflow(ctx, workflows.WorkflowID(run), "", workflows.ProgressQuery)
	if err != nil {
		return view, err
	}
	return view, answer.Get(&view)
}

// tell gives an order. A refusal says why.
func (w *attendant) tell(ctx context.Context, run, verb string, order workflows.Order) error {
	ctx, done := context.WithTimeout(ctx, updatePatience)
	defer done()
	err := send(ctx, w.client, run, verb, order)
	reason, is := refused(err)
	switch {
	case is:
		return fmt.Errorf("run %s cannot %s: %s", run, verb, reason)
	case err != nil && w.process == nil:
		return fmt.Errorf("no worker obeyed the order to %s run %s within %v; waymark doctor says whether one listens: %w", verb, run, updatePatience, err)
	case err != nil:
		return fmt.Errorf("%s works for run %s and did not %s it within %v: %w", w.name(), run, verb, updatePatience, err)
	}
	return nil
}

// awaitClosed waits until a run that is over on record is so on the cluster: who resumes it next must not be told that it is worked for.
func (w *attendant) awaitClosed(ctx context.Context, run string) error {
	if w.process != nil {
		return nil // whoever comes next waits for the end of the process
	}
	ctx, done := context.WithTimeout(ctx, updatePatience)
	defer done()
	for {
		open, err := w.open(ctx, run)
		if err != nil || !open {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(endInterval):
		}
	}
}

// withWorker finds who executes the run and does something with it; found is false if nobody does.
func (a *app) withWorker(ctx context.Context, run string, do func(*attendant) error) (found bool, err error) {
	worker, err := a.reach(ctx)
	if err != nil || worker == nil {
		return false, err
	}
	defer worker.close()
	found, err = worker.worksFor(ctx, run)
	if err != nil || !found {
		return false, err
	}
	return true, do(worker)
}
