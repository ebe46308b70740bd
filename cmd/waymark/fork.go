package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/activities"
	"waymark/landscape"
	"waymark/workflows"
)

// fork begins a new run of the present document in the place of a run that is not complete. As soon as the new one is on
// record, the old one ends for good.
func (a *app) fork(ctx context.Context, m *machine, id string, o resumption) error {
	old, err := a.stopped(ctx, m, id)
	if err != nil {
		return err
	}
	if err := activities.MayFork(old); err != nil {
		return wrongUse(err)
	}
	doc, err := a.presentDocument(m, old)
	if err != nil {
		return err
	}
	if err := a.markInterrupted(ctx, m, id); err != nil {
		return err
	}
	in, err := a.runInput(ctx, m, doc, newRunID())
	if err != nil {
		return err
	}
	in.Parent, in.Link = old.ID, string(landscape.ForkLink)
	if err := m.sameInput(in.Run, old.ID); err != nil {
		return err
	}
	e := &execution{
		app: a, machine: m, pipeline: doc.plan.Document.Pipeline.Name, total: doc.bytes(ctx), input: in,
		detach: o.detach, begun: func(ctx context.Context) error { return a.replaced(ctx, m, old.ID, in.Run, o.why) },
	}
	return e.perform(ctx)
}

// presentDocument compiles the file of a run's document as it is now, with the run's parameters.
func (a *app) presentDocument(m *machine, run landscape.Run) (*document, error) {
	path := documentPath(run)
	if path == "" || !exists(path) {
		return nil, wrongUsef("the document of run %s is not at %q any more: name one to begin anew with: waymark run FILE", run.ID, path)
	}
	var params map[string]string
	if err := json.Unmarshal([]byte(run.Params), &params); err != nil {
		return nil, fmt.Errorf("run %s: the parameters on record: %w", run.ID, err)
	}
	return compileWith(m.planner, shown(path), params)
}

// replaced ends a run for good whose place another one has. It may be repeated.
func (a *app) replaced(ctx context.Context, m *machine, old, by, why string) error {
	if why == "" {
		why = "forked"
	}
	if err := m.end(ctx, old, workflows.Order{Actor: actor(), Why: "run " + by + " has its place: " + why, Final: true}); err != nil {
		return fmt.Errorf("run %s has the place of run %s, which could not be ended: %w", by, old, err)
	}
	if err := errors.Join(a.discard(ctx, m, old), m.forgetInput(old)); err != nil {
		a.note("what run %s staged stays where it is: %v", old, err)
	}
	return nil
}

// refuseForked refuses a run whose place another one has. If the process that began the other one died before it ended this
// one, that is done now.
func (a *app) refuseForked(ctx context.Context, m *machine, run string) error {
	linked, err := m.record.log.LinkedRuns(ctx, run)
	if err != nil {
		return err
	}
	for _, other := range linked {
		if other.Link != landscape.ForkLink {
			continue
		}
		if err := a.replaced(ctx, m, run, other.Run, ""); err != nil {
			return err
		}
		return wrongUsef("run %s has the place of run %s: waymark resume %s", other.Run, run, other.Run)
	}
	return nil
}
