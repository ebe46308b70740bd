package client

import (
	"context"
	"fmt"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// Pause says who paused a run, and why.
type Pause struct {
	Actor string `json:"actor"`
	Why   string `json:"why"`
	Since Time   `json:"since"`
}

// paused returns who paused a run, according to the landscape: an order is recorded there before it counts, so that its
// executor need not be asked. A run that nobody executes is not paused, unless the next process that serves continues
// it, and with it the pause.
func (c *Client) paused(ctx context.Context, run *Run) (*Pause, error) {
	if run.Status != pipeline.Running || run.Dead() && !c.host.Continues(ctx, run.ID) {
		return nil, nil
	}
	return pausedAt(ctx, c.log.Reader, run.ID)
}

// Paused returns who paused a run according to the landscape; nil if it is not paused. To resume a run ends the pause.
func (c *Client) Paused(ctx context.Context, run string) (pause *Pause, err error) {
	defer c.edge(ctx, &err)
	if _, err := c.recorded(ctx, run); err != nil {
		return nil, err
	}
	return pausedAt(ctx, c.log.Reader, run)
}

func pausedAt(ctx context.Context, log *landscape.Reader, run string) (*Pause, error) {
	actions, err := log.Actions(ctx, run)
	if err != nil {
		return nil, err
	}
	var last *landscape.Action
	for i := range actions {
		switch actions[i].Verb {
		case landscape.VerbPause:
			last = &actions[i]
		case landscape.VerbContinue:
			last = nil
		}
	}
	if last == nil {
		return nil, nil
	}
	resumptions, err := log.Resumptions(ctx, run)
	if err != nil || len(resumptions) > 0 && resumptions[len(resumptions)-1].At >= last.At {
		return nil, err
	}
	return &Pause{Actor: last.Actor, Why: last.Why, Since: Time(last.At)}, nil
}

// Pause lets a run finish the work in flight, and then wait until it is resumed. It returns when that is recorded. A run that is paused
// stays as it is: then changed is false. Errors are *Error: of kind Invalid if by.Why is empty, of kind Conflict if nobody executes the run, of kind
// Busy if the run refuses it, of kind Unavailable if nobody obeys in time.
func (c *Client) Pause(ctx context.Context, run landscape.Run, by By) (changed bool, err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return false, err
	}
	if run, err = c.recorded(ctx, run.ID); err != nil {
		return false, err
	}
	found, err := WithExecutor(ctx, c.host, run.ID, func(executor *Executor) error {
		if err := executor.Attended(ctx, run.ID); err != nil {
			return err
		}
		if view, err := executor.View(ctx, run.ID); err == nil && view.Paused != nil {
			return nil
		}
		changed = true
		return executor.Order(ctx, run.ID, workflows.PauseUpdate, workflows.Command{Actor: by.or(c.Actor).Actor, Why: by.Why})
	})
	if err == nil && !found {
		err = &Error{Kind: Conflict, Code: NotExecuted, Message: fmt.Sprintf("run %s is %s, and no process works for it: there is nothing to pause", run.ID, run.Status)}
	}
	return changed && err == nil, err
}
