package client

import (
	"context"
	"fmt"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// Follow joins the execution of a run by others: another process that uses the state folder, or the workers of a cluster. The run need not
// be recorded yet. Of a run that has ended, or did not begin, Execution.Follow returns no more than its end. Close the Execution. The error is an *Error
// of kind NotFound if there is no such run, and of kind Conflict, with the cure Resume or ServeAgain, if nobody executes it.
func (c *Client) Follow(ctx context.Context, word string) (_ *Execution, err error) {
	defer c.edge(ctx, &err)
	run, missing := c.Find(ctx, word)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if missing != nil {
		run.ID = word // it may not be recorded yet
		if start, err := c.log.LastStart(ctx, word); err == nil {
			run.Pipeline = start.Pipeline
		}
	}
	e := &Execution{
		Run: run.ID, Pipeline: run.Pipeline, Workflow: workflows.WorkflowID(run.ID), Started: run.Started.Time(), Joined: true,
		session: &Session{Log: c.log, Place: c.place},
	}
	e.inEpoch(run.Epoch)
	if missing == nil && (Complete(run.Status) || run.Final) {
		return e, nil
	}
	executor, err := c.host.Reach(ctx)
	if err != nil {
		return nil, err
	}
	if executor != nil {
		found, err := executor.Executes(ctx, run.ID)
		if err == nil && found {
			err = e.join(ctx, executor, run)
		}
		if err == nil && found {
			return e, nil
		}
		executor.Close()
		if err != nil {
			return nil, err
		}
	}
	if missing != nil {
		if _, err := c.Find(ctx, word); err == nil { // it began and ended meanwhile
			return c.Follow(ctx, word)
		}
		return c.followNone(ctx, word, missing)
	}
	now, err := c.log.Run(ctx, run.ID)
	if err != nil || now.Status != pipeline.Running { // it may have ended meanwhile
		e.inEpoch(now.Epoch)
		return e, err
	}
	return nil, &Error{Kind: Conflict, Code: NotExecuted, Message: fmt.Sprintf("nobody works for run %s", run.ID), Cure: c.revival(ctx, run.ID), Run: run.ID}
}

// followNone follows a run that is not recorded, and for which nobody works: it did not begin, or its result is that of another one.
func (c *Client) followNone(ctx context.Context, word string, missing error) (*Execution, error) {
	never, joined, err := c.NotBegun(ctx, word, missing)
	switch {
	case err != nil:
		return nil, err
	case joined != "" && joined != word:
		return c.Follow(ctx, joined)
	case never != nil:
		return never, nil
	}
	return nil, missing
}

// join follows the workflow that somebody else executes.
func (e *Execution) join(ctx context.Context, executor *Executor, run landscape.Run) (err error) {
	e.session.Connection, e.session.Queue = executor.Connection, executor.Queue
	e.session.State, e.session.Databases = executor.State, executor.Databases
	if e.Before, err = progressOf(ctx, e.session.Log.Reader, e.Run); err != nil {
		return err
	}
	if run.Plan != "" {
		if e.Total, err = recordedBytes(ctx, e.session.Log.Reader, run); err != nil {
			return err
		}
	}
	if run.Status != "" && run.Status != pipeline.Running { // its workflow is about to resume it, or about to end
		e.inEpoch(run.Epoch + 1)
		e.resuming = true
	}
	e.gone = executor.Gone
	e.handle = executor.Temporal.GetWorkflow(ctx, e.Workflow, "")
	e.close = func() error {
		executor.Close()
		return nil
	}
	return nil
}

// ended says in which epoch a run ended that seemed about to be resumed.
func (e *Execution) ended(ctx context.Context, end *Ending) {
	if !e.resuming || end.Err != nil {
		return
	}
	if now, err := e.session.Log.Run(ctx, e.Run); err == nil && now.Epoch < e.Epoch() {
		e.inEpoch(now.Epoch)
	}
}
