package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"waymark/embedded"
	"waymark/workflows"
)

const (
	// reachPatience is how long it may take to find out what another process does.
	reachPatience = 5 * time.Second
	// updatePatience is how long the process that works for a run may take to obey an order.
	updatePatience = 30 * time.Second
)

// attendant is another process that uses the state folder.
type attendant struct {
	embedded.Process
	client client.Client
}

// reach connects to the process that uses the state folder; nil if none does, or if it cannot be reached. Close it.
func (a *app) reach(ctx context.Context) (*attendant, error) {
	process, held, err := embedded.Holder(a.inState("temporal.db"))
	if err != nil || !held {
		return nil, err
	}
	return a.connect(ctx, process)
}

// connect connects to a process that uses the state folder.
func (a *app) connect(ctx context.Context, process embedded.Process) (*attendant, error) {
	found := &attendant{Process: process}
	if process.Address == "" {
		return found, nil // it has just begun
	}
	ctx, done := context.WithTimeout(ctx, reachPatience)
	defer done()
	var err error
	found.client, err = embedded.Dial(ctx, process.Address, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("process %d uses the state folder and does not answer at %s: %w", process.PID, process.Address, err)
	}
	return found, nil
}

func (w *attendant) close() {
	if w.client != nil {
		w.client.Close()
	}
}

// worksFor reports whether the process executes the run: a workflow can be open that nobody works for.
func (w *attendant) worksFor(ctx context.Context, run string) (bool, error) {
	if w.client == nil {
		return false, nil
	}
	ctx, done := context.WithTimeout(ctx, reachPatience)
	defer done()
	queue, err := w.client.DescribeTaskQueue(ctx, queueOf(run), 0)
	if err != nil {
		return false, fmt.Errorf("process %d uses the state folder and does not answer: %w", w.PID, err)
	}
	return len(queue.GetPollers()) > 0, nil
}

// view asks the process how the run is.
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

// tell gives an order to the process. A refusal says why.
func (w *attendant) tell(ctx context.Context, run, verb string, order workflows.Order) error {
	ctx, done := context.WithTimeout(ctx, updatePatience)
	defer done()
	err := send(ctx, w.client, run, verb, order)
	if reason, is := refused(err); is {
		return fmt.Errorf("run %s cannot %s: %s", run, verb, reason)
	}
	if err != nil {
		return fmt.Errorf("process %d works for run %s and did not %s it within %v: %w", w.PID, run, verb, updatePatience, err)
	}
	return nil
}

// withWorker finds the process that executes the run and does something with it; found is false if nobody executes it.
func (a *app) withWorker(ctx context.Context, run string, do func(*attendant) error) (found bool, err error) {
	process, err := a.reach(ctx)
	if err != nil || process == nil {
		return false, err
	}
	defer process.close()
	found, err = process.worksFor(ctx, run)
	if err != nil || !found {
		return false, err
	}
	return true, do(process)
}
