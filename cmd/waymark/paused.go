package main

import (
	"context"
	"fmt"

	"waymark/landscape"
	"waymark/pipeline"
)

// pausedBy says who paused a run, and why.
type pausedBy struct {
	Actor string  `json:"actor"`
	Why   string  `json:"why"`
	Since *string `json:"since,omitempty"`
}

// String says it for people.
func (p *pausedBy) String() string { return fmt.Sprintf("paused by %s: %s", p.Actor, p.Why) }

// paused returns by whom a running run is paused according to its record; nil if it is not. Whoever takes a run up again, or
// lets it go on, ends the pause.
func (r *record) paused(ctx context.Context, run string) (*pausedBy, error) {
	actions, err := r.log.Actions(ctx, run)
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
	resumptions, err := r.log.Resumptions(ctx, run)
	if err != nil || len(resumptions) > 0 && resumptions[len(resumptions)-1].At >= last.At {
		return nil, err
	}
	return &pausedBy{Actor: last.Actor, Why: last.Why, Since: stamp(last.At)}, nil
}

// paused returns by whom a run is paused: what the process that works for it says, or else the record. A run that nobody works
// for is not paused; alive says whether somebody does, if that can be told.
func (a *app) paused(ctx context.Context, r *record, run landscape.Run, alive *bool) (*pausedBy, error) {
	if run.Status != pipeline.Running || alive != nil && !*alive {
		return nil, nil
	}
	recorded, err := r.paused(ctx, run.ID)
	if err != nil || a.onCluster() && alive == nil { // the cluster does not answer
		return recorded, err
	}
	_, err = a.withWorker(ctx, run.ID, func(process *attendant) error {
		view, err := process.view(ctx, run.ID)
		switch {
		case err != nil:
			return nil //nolint:nilerr // it is busy; the record says it as well
		case view.Paused == nil:
			recorded = nil
		case recorded == nil:
			recorded = &pausedBy{Actor: view.Paused.Actor, Why: view.Paused.Why}
		}
		return nil
	})
	if err != nil {
		return recorded, nil //nolint:nilerr // it cannot be reached; the record says it as well
	}
	return recorded, nil
}
