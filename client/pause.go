package client

import (
	"context"

	"waymark/landscape"
	"waymark/pipeline"
)

// Pause says who paused a run, and why.
type Pause struct {
	Actor string `json:"actor"`
	Why   string `json:"why"`
	Since Time   `json:"since,omitempty"` // not known of a pause that is not recorded yet
}

// paused returns who paused a run: what its executor says, or else the landscape. A run that nobody executes is not paused.
func (c *Client) paused(ctx context.Context, run *Run) (*Pause, error) {
	if run.Status != pipeline.Running || run.Dead() {
		return nil, nil
	}
	recorded, err := c.Paused(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	view := c.host.View(ctx, run.ID)
	switch {
	case view == nil:
		return recorded, nil
	case view.Paused == nil:
		return nil, nil
	case recorded == nil:
		return &Pause{Actor: view.Paused.Actor, Why: view.Paused.Why}, nil
	}
	return recorded, nil
}

// Paused returns who paused a run according to the landscape; nil if it is not paused. Whoever resumes a run ends the pause.
func (c *Client) Paused(ctx context.Context, run string) (*Pause, error) {
	actions, err := c.log.Actions(ctx, run)
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
	resumptions, err := c.log.Resumptions(ctx, run)
	if err != nil || len(resumptions) > 0 && resumptions[len(resumptions)-1].At >= last.At {
		return nil, err
	}
	return &Pause{Actor: last.Actor, Why: last.Why, Since: Time(last.At)}, nil
}
