package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"waymark/activities/bundle"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// comesBack refuses triggers through which the outputs of a pipeline would come back to it. file names its document.
func (c *Client) comesBack(ctx context.Context, environment, file, name string, triggers pipeline.Map[pipeline.ArrivalTrigger]) error {
	cycle, err := c.log.UpstreamCycle(ctx, environment, name, triggers)
	if err != nil || cycle == nil {
		return err
	}
	return &Error{Kind: Invalid, Code: InvalidDocument, Message: fmt.Sprintf(
		"%s: what %s publishes would come back to it, and each run would begin others, without end: %s; delete one of the triggers on this way", file, name, strings.Join(cycle, " after "))}
}

// mayFollow refuses a document of this name with triggers after pipelines with which the person who makes it current
// may have nothing to do: by what they publish he would learn of them.
func mayFollow(may func(pipeline string) error, name string, triggers pipeline.Map[pipeline.ArrivalTrigger]) error {
	if may == nil {
		return nil
	}
	if err := may(name); err != nil {
		return err
	}
	for _, trigger := range triggers {
		if trigger.Value.After == nil {
			continue
		}
		if err := may(trigger.Value.After.Pipeline); err != nil {
			return err
		}
	}
	return nil
}

// fitsUpstream refuses triggers after pipelines, or sinks, that are not there, or that publish no files.
func (c *Client) fitsUpstream(ctx context.Context, environment string, doc *pipeline.Document) error {
	var problems pipeline.Problems
	for _, trigger := range doc.Pipeline.Triggers {
		if trigger.Value.After == nil {
			continue
		}
		key, wrong, err := c.lacks(ctx, environment, *trigger.Value.After)
		if err != nil {
			return err
		}
		if wrong != "" {
			problems = append(problems, doc.Problem(pipeline.Key(pipeline.Key(pipeline.Key("triggers", trigger.Name), "after"), key), "%s", wrong))
		}
	}
	if problems == nil {
		return nil
	}
	refused := documentError(doc.File, problems)
	refused.Cure = DeployUnready
	return refused
}

// lacks says what a trigger could never begin a run after, and which key of it says so; nothing if there is such a
// sink, as far as is known without values.
func (c *Client) lacks(ctx context.Context, environment string, after pipeline.Upstream) (key, wrong string, err error) {
	version, err := c.log.Startable(ctx, environment, after.Pipeline, 0)
	_, retired := errors.AsType[*landscape.RetiredError](err)
	switch {
	case retired:
		restore := "waymark restore " + after.Pipeline
		if environment != landscape.DefaultEnvironment {
			restore += " --environment " + environment
		}
		return "pipeline", fmt.Sprintf("the pipeline %s is retired in %s: restore it first: %s --why TEXT", after.Pipeline,
			environment, restore), nil
	case errors.Is(err, landscape.ErrNotFound):
		return "pipeline", fmt.Sprintf("no pipeline %s is deployed in %s: deploy it first", after.Pipeline, environment), nil
	case err != nil:
		return "", "", err
	}
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return "", "", err
	}
	b, err := bundle.Get(ctx, deposit.Payloads, payload.Digest(version.Bundle))
	if errors.Is(err, payload.ErrNotFound) || errors.Is(err, payload.ErrCorrupt) { // no other trigger is worse for it
		unread := fmt.Sprintf("the document of %s@%d cannot be read: %v", after.Pipeline, version.Version, err)
		return "pipeline", unread, nil
	}
	if err != nil {
		return "", "", err
	}
	other := anywhere(b, nil)
	if other == nil {
		return "", "", nil
	}
	var names []string
	for _, sink := range other.Pipeline.Sinks {
		names = append(names, sink.Name)
	}
	sink, there := other.Pipeline.Sinks.Get(after.Sink)
	if !there {
		return "sink", fmt.Sprintf("the pipeline %s has no sink %s: it has %s", after.Pipeline, after.Sink, strings.Join(names, ", ")), nil
	}
	if format, target := targetOf(sink); format == "" || target.Path == pipeline.Stdio {
		return "sink", fmt.Sprintf("the sink %s of %s writes no files: name one that does", after.Sink, after.Pipeline), nil
	}
	return "", "", nil
}

// stranded returns the triggers of other pipelines after one that can begin no runs any more, as that one is now, by
// id, each with the reason.
func (c *Client) stranded(ctx context.Context, environment, name string) (list []string, err error) {
	rows, err := c.log.Triggers(ctx)
	for _, row := range rows {
		if err != nil {
			return nil, err
		}
		if row.Removed() || row.Environment != environment {
			continue
		}
		var after *pipeline.Upstream
		if after, err = row.Follows(); err != nil || after == nil || after.Pipeline != name {
			continue
		}
		var wrong string
		if _, wrong, err = c.lacks(ctx, environment, *after); wrong != "" {
			list = append(list, row.ID+": "+wrong)
		}
	}
	return list, err
}

// mayRestore refuses to restore a pipeline whose triggers would lead back to it by now.
func (c *Client) mayRestore(ctx context.Context, order landscape.Deployment, may func(pipeline string) error) error {
	last, err := c.log.Current(ctx, order.Environment, order.Pipeline)
	if err != nil {
		return err
	}
	b, table, err := c.timetableOf(ctx, order.Pipeline, last.Version)
	if err != nil {
		return err
	}
	if err := mayFollow(may, order.Pipeline, table.Triggers); err != nil {
		return err
	}
	return c.comesBack(ctx, order.Environment, b.Name, order.Pipeline, table.Triggers)
}
