package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/plugin"
)

// pinRetry stores the lists and returns what the sources hold: nothing but what the lists say.
func (a *Activities) pinRetry(ctx context.Context, retry *Retry) (map[string]plugin.SourceInfo, error) {
	pins := map[string]plugin.SourceInfo{}
	for _, list := range retry.Sources {
		text, err := json.Marshal(list)
		if err != nil {
			return nil, fmt.Errorf("list of source %s: %w", list.Source, err)
		}
		digest, err := a.payloads.Put(ctx, text)
		if err != nil {
			return nil, fmt.Errorf("list of source %s: %w", list.Source, err)
		}
		pins[list.Source] = plugin.SourceInfo{Files: []plugin.FileInfo{}, List: string(digest)}
	}
	return pins, nil
}

// sources returns what the sources hold when the run begins, and the plan with the sources that it reads.
func (a *Activities) sources(
	ctx context.Context, in OpenInput, from *origin, compiled *plan.Plan,
) (*plan.Plan, map[string]plugin.SourceInfo, error) {
	if in.Retry == nil {
		if err := a.mayFork(ctx, in); err != nil {
			return nil, nil, err
		}
		known := a.requested
		if from.arrived != "" {
			known = a.arrived
		}
		found, err := known(ctx, in, compiled)
		if err != nil {
			return nil, nil, err
		}
		pins, err := stat(ctx, compiled, found)
		return compiled, pins, err
	}
	retry, err := NewRetry(ctx, a.log.Reader, a.payloads, in.Retry.Of, compiled, in.Run)
	if err == nil && retry.Rows == 0 {
		err = notRetryable("no record of run %s is left to be retried", in.Retry.Of)
	}
	if err != nil {
		return nil, nil, err
	}
	pins, err := a.pinRetry(ctx, retry)
	return feedAgain(compiled, a.log.Reader, a.payloads, pins), pins, err
}

// mayFork refuses to take the place of a run that feeds records again: a fork would read its sources instead.
func (a *Activities) mayFork(ctx context.Context, in OpenInput) error {
	if in.Link != string(landscape.ForkLink) {
		return nil
	}
	parent, err := a.log.Run(ctx, in.Parent)
	if err == nil {
		err = MayFork(parent)
	}
	if err == nil {
		err = a.mayForkArrived(ctx, in.Parent)
	}
	if err == nil {
		err = a.mayForkRequested(ctx, in.Parent)
	}
	return err
}

// MayFork rejects a run that no fork can take the place of: one that feeds records of another run again, which are fed once. The
// error is a *NotRetryableError.
func MayFork(run landscape.Run) error {
	if run.Link != landscape.RetryLink {
		return nil
	}
	return notRetryable("run %s feeds records of run %s again, and a fork would read all of their sources: continue with it as it is: waymark status %s says how",
		run.ID, run.Parent, run.ID)
}

// retried returns the records that the sources retry.
func (a *Activities) retried(ctx context.Context, pins map[string]plugin.SourceInfo) ([]landscape.RetriedRow, error) {
	var rows []landscape.RetriedRow
	for _, source := range slices.Sorted(maps.Keys(pins)) {
		if pins[source].List == "" {
			continue
		}
		list, err := recompute.ReadList(ctx, a.payloads, source, pins[source].List)
		if err != nil {
			return nil, err
		}
		rows = append(rows, list.Retried()...)
	}
	return rows, nil
}

// feedAgain returns the plan with sources that read what their lists say. A plan whose sources have no lists stays as it is.
func feedAgain(compiled *plan.Plan, log *landscape.Reader, payloads *payload.Store, pins map[string]plugin.SourceInfo) *plan.Plan {
	changed := *compiled // plans are shared
	changed.Nodes = slices.Clone(compiled.Nodes)
	for _, i := range changed.Sources() {
		node := &changed.Nodes[i]
		if pin := pins[node.Name]; pin.List != "" {
			node.Source = &retriedSource{Source: node.Source, name: node.Name, pin: pin, log: log, payloads: payloads}
		}
	}
	return &changed
}
