package client

import (
	"context"
	"errors"
	"fmt"

	"waymark/activities/bundle"
	"waymark/activities/recompute"
	"waymark/audit"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
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
		if r.Trying != nil {
			if err := r.Trying(runs[i].ID); err != nil {
				return nil, err
			}
		}
		var trial audit.Trial
		trial, err = tryRun(ctx, auditor, planner, r, made, runs[i], values)
		trials = append(trials, trial)
	}
	return trials, err
}

// WhatIfRequest says what to try on a run: the document of a file, a version of the run's pipeline that is deployed in its environment, or a text in the place of the run's own document. One
// of File, Version and Document is set.
type WhatIfRequest struct {
	Run      string            // all that Find takes
	File     string            // its lookup tables are read as they are now
	Version  int64             //
	Document string            // it is compiled with the lookup tables and the values of its environment that the run had; it can read no other file
	Params   map[string]string // in the place of those that the run had
}

// WhatIf sends the stored source records of a complete run through another document, with the parameters that the run had unless they are given, and
// says what would become of each row. Nothing of it is recorded or written. The error is an *Error of kind Conflict if the run is not complete, or its
// records are not to be had or what becomes of a row by the document depends on others, and Invalid if the document has problems.
func (c *Client) WhatIf(ctx context.Context, r WhatIfRequest) (_ *audit.Trial, err error) {
	defer c.edge(ctx, &err)
	run, err := c.Find(ctx, r.Run)
	if err == nil {
		err = c.NotArchived(ctx, run.ID, "tried with another document")
	}
	if err != nil {
		return nil, err
	}
	if !Complete(run.Status) {
		return nil, &Error{Kind: Conflict, Code: NotTriable, Message: fmt.Sprintf("run %s is %s: only complete runs can be tried with another document", run.ID, run.Status)}
	}
	params, err := paramsOf(run, r.Params)
	if err != nil {
		return nil, err
	}
	doc, err := c.otherDocument(ctx, run, r, params)
	if err == nil {
		if untriable := audit.Triable(doc.Plan); untriable != nil {
			err = &Error{Kind: Conflict, Code: NotTriable, Run: run.ID, Message: untriable.Error(), Err: untriable}
		}
	}
	if err != nil {
		return nil, err
	}
	auditor, err := c.host.Auditor(ctx)
	if err != nil {
		return nil, err
	}
	trial, err := auditor.Try(ctx, run, doc.Plan)
	if err == nil && trial.Left != "" {
		err = &Error{Kind: Conflict, Code: NotTriable, Message: fmt.Sprintf("run %s cannot be tried: %s", run.ID, trial.Left)}
	}
	return &trial, err
}

// otherDocument compiles what is tried on a run.
func (c *Client) otherDocument(ctx context.Context, run landscape.Run, r WhatIfRequest, params map[string]string) (*Document, error) {
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Document != "":
		return c.edited(ctx, deposit, run, r.Document, params)
	case r.Version == 0:
		return Compile(deposit.Planner, r.File, params)
	}
	found, err := c.findPipeline(ctx, run.Environment, fmt.Sprintf("%s@%d", run.Pipeline, r.Version))
	if err != nil {
		return nil, err
	}
	made, err := bundle.Get(ctx, deposit.Payloads, payload.Digest(found.Bundle))
	if err != nil {
		return nil, err
	}
	values, err := c.log.LastEnvironment(ctx, found.Environment)
	if err != nil {
		return nil, err
	}
	doc, err := compileBundle(deposit.Planner, made, made.Name, params, values)
	if err != nil {
		return nil, documentError(made.Name, err)
	}
	return doc, nil
}

// edited compiles a text in the place of a run's document.
func (c *Client) edited(ctx context.Context, deposit *Deposit, run landscape.Run, text string, params map[string]string) (*Document, error) {
	tables, err := recompute.Tables(ctx, c.log.Reader, deposit.Payloads, run.ID)
	if err != nil {
		return nil, err
	}
	request, err := recompute.Request(ctx, c.log.Reader, run, tables)
	if err != nil {
		return nil, err
	}
	request.Closed = true
	request.Standing = plan.Proposed
	doc := &Document{File: "the document", Folder: request.Folder, Source: []byte(text), Params: params}
	return doc, doc.compileWith(deposit.Planner, request)
}

// tryRun tries one run, with the parameters that it had.
func tryRun(
	ctx context.Context, auditor *audit.Auditor, planner worker.Planner, r DeployRequest, made bundle.Bundle, run landscape.Run, values landscape.Environment,
) (audit.Trial, error) {
	params, err := paramsOf(run, nil)
	if err != nil {
		return audit.Trial{}, err
	}
	doc, err := compileBundle(planner, made, r.File, params, values)
	if problems, ok := errors.AsType[pipeline.Problems](err); ok {
		return audit.NotTried(run.ID, "the version refuses its parameters: "+problems[0].Message), nil
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
