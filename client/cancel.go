package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// Cancelled says what the cancellation of a run did.
type Cancelled struct {
	Changed bool     // else it was so already
	Deleted []Staged // of a permanent one: what the run had staged, as far as this machine sees it
}

// Cancel stops a run, whether a process executes it or not; Client.Resume resumes it. With final it is cancelled
// permanently, and what it staged is removed; repeating that removes what is still there, and changes something if there
// was any. A run that is cancelled already stays as it is. The error is an *Error of kind Invalid if by.Why is empty, and
// of kind Conflict if the run is complete, or one person may not cancel it permanently.
func (c *Client) Cancel(ctx context.Context, run landscape.Run, by By, final bool) (done Cancelled, err error) {
	defer c.edge(ctx, &err)
	staged, _ := StagedOf(run) // an order about a run whose plan cannot be read says so itself
	if done.Changed, err = c.cancel(ctx, run, by, final); err == nil && final {
		done.Deleted = deleted(staged, run)
	}
	return done, err
}

func (c *Client) cancel(ctx context.Context, run landscape.Run, by By, final bool) (changed bool, err error) {
	if err := by.giveWhy(); err != nil {
		return false, err
	}
	if run, err = c.recorded(ctx, run.ID); err != nil {
		return false, err
	}
	order := workflows.Command{Actor: by.or(c.Actor).Actor, Why: by.Why, As: pipeline.Cancelled, Final: final}
	if changed, err = cancellable(run.RunHead, final); err != nil || !changed && !final {
		return false, err
	}
	if changed && final {
		if err := c.log.MayOrder(ctx, landscape.OrderCancel); err != nil { // before anything is stopped
			return false, err
		}
	}
	alone := false // nobody can obey
	found, err := WithExecutor(ctx, c.host, run.ID, func(executor *Executor) error {
		if executor.Process == 0 {
			alone = executor.foreign(ctx, run.ID) != "" || executor.Unattended(ctx, executor.Queue)
		}
		if alone {
			return executor.Terminate(ctx, run.ID, "cancelled while no worker listened")
		}
		if err := executor.Order(ctx, run.ID, workflows.CancelUpdate, order); err != nil {
			return err
		}
		if err := c.awaitEnd(ctx, run.ID); err != nil {
			return err
		}
		return executor.AwaitClosed(ctx, run.ID)
	})
	if err != nil { // the run may have ended while the order was in flight
		if now, failed := c.recorded(ctx, run.ID); failed == nil && Complete(now.Status) {
			_, err = cancellable(now.RunHead, final)
		}
	}
	if err != nil || found && !alone {
		return err == nil, err
	}
	session, err := c.sessionToCancel(ctx, run.ID)
	if errors.Is(err, errExecuted) {
		return c.cancel(ctx, run, by, final)
	}
	if err != nil {
		return false, err
	}
	if c.log.Executes() {
		session.Log = c.log
	}
	changed, err = session.cancel(ctx, run.ID, order)
	if closed := session.Close(); err == nil {
		err = closed
	}
	return changed, err
}

// errExecuted is the cause why a session is not waited for.
var errExecuted = errors.New("another process executes the run")

// executedLook is the time between two looks whether another process executes a run.
const executedLook = time.Second

// sessionToCancel opens a session to cancel a run that nobody executes. It can have to wait for its turn: the error is
// errExecuted if another process executes the run meanwhile.
func (c *Client) sessionToCancel(ctx context.Context, run string) (*Session, error) {
	waiting, end := context.WithCancelCause(ctx)
	defer end(nil)
	go defect.Guard("cancel", func() {
		for {
			select {
			case <-waiting.Done():
				return
			case <-time.After(executedLook):
			}
			found, err := WithExecutor(waiting, c.host, run, func(*Executor) error { return nil })
			if found && err == nil {
				end(errExecuted)
			}
		}
	})()
	session, err := c.host.Session(waiting, ToCancel)
	if err != nil && errors.Is(context.Cause(waiting), errExecuted) {
		return nil, errExecuted
	}
	return session, err
}

// CancelWaiting cancels a run that has not begun: its start is recorded and waits for something, or no worker has come for it yet. False if there
// is no such run, or it has begun meanwhile. The error is an *Error of kind Invalid if by.Why is empty.
func (c *Client) CancelWaiting(ctx context.Context, run string, by By) (cancelled bool, err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return false, err
	}
	start, err := c.callOff(ctx, run, by)
	if err != nil {
		return false, err
	}
	if cancelled = start != nil; cancelled && start.Workflow == "" { // BeginAccepted sees that nobody wants it
		return true, nil
	}
	_, err = WithExecutor(ctx, c.host, run, func(executor *Executor) error {
		if executor.Process != 0 || !cancelled && !executor.Unattended(ctx, executor.Queue) {
			return nil // it is about to be recorded
		}
		cancelled = true
		return executor.Terminate(ctx, run, "cancelled before the run began")
	})
	return cancelled && err == nil, err
}

// callOff records that nothing comes of the start of a run that has not begun, and returns it; nil if there is no such start, or it is decided.
func (c *Client) callOff(ctx context.Context, run string, by By) (*landscape.Start, error) {
	start, err := c.log.LastStart(ctx, run)
	if errors.Is(err, landscape.ErrNotFound) || err == nil && start.Decided != 0 {
		return nil, nil //nolint:nilnil // nothing to call off is no error
	}
	if err != nil {
		return nil, err
	}
	order := workflows.Command{Actor: by.or(c.Actor).Actor, Why: by.Why}
	start.State, start.Reason = landscape.StartCancelled, order.Sentence()
	err = c.log.CallOff(ctx, start)
	if errors.Is(err, landscape.ErrBegun) {
		return nil, nil //nolint:nilnil // as above
	}
	return &start, err
}

// cancellable reports whether an order would change something about the run. It refuses one about a run that is complete.
func cancellable(run landscape.RunHead, final bool) (bool, error) {
	if Complete(run.Status) {
		return false, &Error{Kind: Conflict, Code: RunEnded, Message: fmt.Sprintf("run %s is %s: there is nothing to cancel", run.ID, run.Status)}
	}
	return run.Status != pipeline.Cancelled || final && !run.Final, nil
}

// cancel cancels a run that nobody executes: this process has the lock that an executor needs, or there is no workflow. It may be
// repeated: what the run staged may be there still.
func (s *Session) cancel(ctx context.Context, run string, order workflows.Command) (changed bool, err error) {
	now, err := s.Log.Run(ctx, run)
	if err == nil {
		changed, err = cancellable(now.RunHead, order.Final)
	}
	if err != nil || !changed && !order.Final {
		return false, err
	}
	if err := s.end(ctx, run, order); err != nil || !order.Final {
		return changed, err
	}
	left, _ := StagedOf(now) // removing it meets the same error
	if err := s.discard(ctx, run); err != nil {
		return changed, &Error{
			Kind: Unavailable, Code: StagedRemains, Cure: CancelAgain, Run: run, Err: err,
			Message: fmt.Sprintf("run %s is cancelled permanently, but what it staged stays where it is: %v", run, err),
		}
	}
	return changed || len(left) > 0, nil
}

// awaitEnd waits until a run that was cancelled is recorded as such.
func (c *Client) awaitEnd(ctx context.Context, run string) error {
	patience, done := context.WithTimeout(ctx, OrderTimeout)
	defer done()
	for {
		found, err := c.log.Run(ctx, run)
		if err != nil || found.Status != pipeline.Running {
			return err
		}
		select {
		case <-patience.Done():
			return &Error{
				Kind: Unavailable, Code: NoAnswer, Cure: ShowStatus, Run: run, Err: patience.Err(),
				Message: fmt.Sprintf("run %s was told to stop and did not within %v: it may yet", run, OrderTimeout),
			}
		case <-time.After(closeInterval):
		}
	}
}

// writesFiles reports whether a sink of the run is a file, or a folder of files.
func writesFiles(run landscape.Run) (bool, error) {
	description, err := PlanOf(run)
	if err != nil {
		return false, err
	}
	for _, node := range description.Nodes {
		if node.Location != "" && !isURL(node.Location) {
			return true, nil
		}
	}
	return false, nil
}

func isURL(location string) bool { return strings.Contains(location, "://") }
