package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/workflows"
)

const (
	// AnswerTimeout is how long it may take to find out what another process does.
	AnswerTimeout = 5 * time.Second
	// OrderTimeout is how long the executor of a run may take to obey an order.
	OrderTimeout = 30 * time.Second
)

// Executor executes runs: another process that uses the state folder, or the workers of a cluster.
type Executor struct {
	*Connection          // nil of a process that has just begun
	Process     int      // its id; 0 of a cluster
	State       string   // folder of a process's Temporal database; empty of a cluster
	Databases   []string // files that runs of a process write, besides their payloads and outputs
	Queue       string   // of a cluster: that of its workers; empty of a process

	// Gone reports whether the process ended, or uses the state folder no more; nil of a cluster that others look after.
	Gone func() bool

	// Active are the ids of the runs that this process executes, if it is the executor; nil of another one.
	Active *sync.Map
}

// Name says who executes runs, for people.
func (e *Executor) Name() string {
	switch {
	case e.Process == 0 && e.Gone != nil:
		return "waymark serve"
	case e.Process == 0:
		return "the cluster"
	}
	return fmt.Sprintf("process %d", e.Process)
}

// Close closes the connection.
func (e *Executor) Close() {
	if e.Connection != nil {
		e.Temporal.Close()
	}
}

// Executes reports whether it executes the run. In a process a workflow can be open that nobody executes; on a cluster any worker that
// comes does. The server remembers for minutes who polled a queue: of another process the answer may be late.
func (e *Executor) Executes(ctx context.Context, run string) (bool, error) {
	if e.Active != nil {
		_, active := e.Active.Load(run)
		return active, nil
	}
	if e.Connection == nil {
		return false, nil
	}
	ctx, done := context.WithTimeout(ctx, AnswerTimeout)
	defer done()
	open, err := e.Open(ctx, run)
	if err != nil || !open || e.Process == 0 {
		return open, err
	}
	queue, err := e.Temporal.DescribeTaskQueue(ctx, workflows.ProcessQueue(run), 0)
	if err != nil {
		return false, fmt.Errorf("%s uses the state folder and does not answer: %w", e.Name(), err)
	}
	return len(queue.GetPollers()) > 0, nil
}

// Attended returns an *Error of kind Unavailable if the run waits for a worker and none is there, and of kind Busy if
// somebody's own workflow has its id in Temporal. A process is its own worker.
func (e *Executor) Attended(ctx context.Context, run string) error {
	if e.Process != 0 {
		return nil
	}
	if foreign := e.foreign(ctx, run); foreign != "" {
		return &Error{
			Kind: Busy, Code: RunBusy, Run: run,
			Message: fmt.Sprintf("the workflow %s in Temporal works for no run: it is %s. "+
				"End it (temporal workflow terminate --workflow-id %[1]s), and try again",
				workflows.WorkflowID(run), foreign),
		}
	}
	if !e.Unattended(ctx, e.Queue) {
		return nil
	}
	return &Error{Kind: Unavailable, Code: NoWorker, Message: fmt.Sprintf("run %s waits for a worker, and none listens on queue %s", run, e.Queue), Cure: StartWorker, Run: run}
}

// foreign says what the workflow with the run's id is if it is open and works for no run: somebody started one of
// another type, or on a queue on which no worker listens. It is empty otherwise, and if that is not known.
func (e *Executor) foreign(ctx context.Context, run string) string {
	ctx, done := context.WithTimeout(ctx, AnswerTimeout)
	defer done()
	found, err := e.Temporal.DescribeWorkflowExecution(ctx, workflows.WorkflowID(run), "")
	info := found.GetWorkflowExecutionInfo()
	if err != nil || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return ""
	}
	kind, queue := info.GetType().GetName(), found.GetExecutionConfig().GetTaskQueue().GetName()
	if kind == workflows.RunPipelineName && (queue == e.Queue || !e.Unattended(ctx, queue)) {
		return ""
	}
	return fmt.Sprintf("of the type %.64q on the queue %.64q", kind, queue)
}

// View asks how the run is.
func (e *Executor) View(ctx context.Context, run string) (view workflows.View, err error) {
	ctx, done := context.WithTimeout(ctx, AnswerTimeout)
	defer done()
	answer, err := e.Temporal.QueryWorkflow(ctx, workflows.WorkflowID(run), "", workflows.ProgressQuery)
	if err != nil {
		return view, err
	}
	return view, answer.Get(&view)
}

// Order gives an order and waits until it is recorded and obeyed. The error is an *Error of kind Busy if the run refuses it, and of kind
// Unavailable if nobody obeys in time: then it may still be obeyed.
func (e *Executor) Order(ctx context.Context, run, verb string, order workflows.Command) error {
	ctx, done := context.WithTimeout(ctx, OrderTimeout)
	defer done()
	err := e.Send(ctx, run, verb, order)
	reason, refused := Refused(err)
	switch {
	case refused:
		return &Error{Kind: Busy, Code: CommandRefused, Message: fmt.Sprintf("run %s cannot %s: %s", run, verb, reason), Err: err}
	case err != nil && e.Process == 0:
		return &Error{
			Kind: Unavailable, Code: NoAnswer, Cure: FindWorkers, Err: err,
			Message: fmt.Sprintf("no worker obeyed the order to %s run %s within %v: %v", verb, run, OrderTimeout, err),
		}
	case err != nil:
		return &Error{
			Kind: Unavailable, Code: NoAnswer, Err: err,
			Message: fmt.Sprintf("%s works for run %s and did not %s it within %v: %v", e.Name(), run, verb, OrderTimeout, err),
		}
	}
	return nil
}

// Send gives an order to the workflow of a run, and waits until it is recorded and obeyed.
func (c *Connection) Send(ctx context.Context, run, verb string, order workflows.Command) error {
	handle, err := c.Temporal.UpdateWorkflow(ctx, sdk.UpdateWorkflowOptions{
		WorkflowID: workflows.WorkflowID(run), UpdateName: verb, Args: []any{order}, WaitForStage: sdk.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// Refused reports whether a workflow refused an order, and its reason.
func Refused(err error) (reason string, refused bool) {
	application, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return "", false
	}
	return application.Message(), true
}

// closeInterval is the time between two looks at a workflow that is about to be closed.
const closeInterval = 100 * time.Millisecond

// AwaitClosed waits until the workflow of a run that has ended is closed: the next one to resume the run must not learn that somebody
// executes it. For a process it does not wait: the next one waits for its end.
func (e *Executor) AwaitClosed(ctx context.Context, run string) error {
	if e.Process != 0 {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, OrderTimeout)
	defer done()
	for {
		open, err := e.Open(ctx, run)
		if err != nil || !open {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(closeInterval):
		}
	}
}
