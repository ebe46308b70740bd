package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/activities/bundle"
	"waymark/audit"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/worker"
)

// try sends the source records of the last complete runs of a pipeline through a version that is to be deployed.
func (c *Client) try(
	ctx context.Context, planner worker.Planner, r DeployRequest, made bundle.Bundle, doc *Document, values landscape.Environment,
) (trials []audit.Trial, err error) {
	if r.Try == 0 {
		return nil, nil
	}
	if err := audit.Triable(doc.Plan); err != nil {
		return nil, invalid(err.Error())
	}
	auditor, err := c.host.Auditor(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := c.lastComplete(ctx, doc.Name(), r.Try)
	for i := 0; i < len(runs) && err == nil; i++ {
		var trial audit.Trial
		trial, err = tryRun(ctx, auditor, planner, r, made, runs[i], values)
		trials = append(trials, trial)
	}
	return trials, err
}

// tryRun tries one run, with the parameters that it had.
func tryRun(
	ctx context.Context, auditor *audit.Auditor, planner worker.Planner, r DeployRequest, made bundle.Bundle, run landscape.Run, values landscape.Environment,
) (audit.Trial, error) {
	var params map[string]string
	if err := json.Unmarshal([]byte(run.Params), &params); err != nil {
		return audit.Trial{}, fmt.Errorf("run %s: the parameters on record: %w", run.ID, err)
	}
	doc, err := compileBundle(planner, made, r.File, params, values)
	if problems, ok := errors.AsType[pipeline.Problems](err); ok {
		return audit.Trial{Run: run.ID, Flips: []audit.Flip{}, Values: []audit.OtherValues{}, Left: "the version refuses its parameters: " + problems[0].Message}, nil
	}
	if err != nil {
		return audit.Trial{}, err
	}
	return auditor.Try(ctx, run, doc.Plan)
}

// lastComplete returns the last runs of a pipeline that are complete, but for those that retry records, the last first.
func (c *Client) lastComplete(ctx context.Context, name string, n int) (found []landscape.Run, err error) {
	const page = 100
	var after *landscape.RunStart
	for {
		heads, err := c.log.RecentRuns(ctx, after, page)
		if err != nil {
			return nil, err
		}
		for _, head := range heads {
			if head.Pipeline != name || !Complete(head.Status) {
				continue
			}
			run, err := c.log.Run(ctx, head.ID)
			if err != nil {
				return nil, err
			}
			if run.Link == landscape.RetryLink {
				continue
			}
			if found = append(found, run); len(found) == n {
				return found, nil
			}
		}
		if len(heads) < page {
			return found, nil
		}
		last := heads[len(heads)-1]
		after = &landscape.RunStart{Started: last.Started, ID: last.ID}
	}
}
