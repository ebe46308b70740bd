package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/landscape"
	"waymark/pipeline"
)

// RefuseInput is a start of which no run comes.
type RefuseInput struct {
	Begin   OpenInput `json:"begin"`   // as far as it could be read
	Refusal string    `json:"refusal"` // type of the error
	Reason  string    `json:"reason"`

	Joiners []string `json:"joiners,omitempty"` // ids of workflows that wait for the run's end
}

// RefuseStart records that no run comes of a start, and why.
//
// It may run twice: a start that is refused in the same words is not refused again.
func (a *Activities) RefuseStart(ctx context.Context, in RefuseInput) (Labelled, error) {
	refuse := func(a *Activities, ctx context.Context, in RefuseInput) (Labelled, error) {
		labels, err := a.refuse(ctx, in.Begin, pipeline.Failed, in.Refusal, in.Reason, a.log.Refuse)
		if err == nil {
			a.tellEnded(ctx, in.Joiners)
		}
		return Labelled{labels}, err
	}
	return anyAttempt(ctx, a, in.Begin.Run, 0, in, refuse)
}

// refuse records, by store, that no run comes of a start: it failed, or was cancelled.
func (a *Activities) refuse(
	ctx context.Context, in OpenInput, as pipeline.RunStatus, refusal, reason string, store func(context.Context, landscape.Start) error,
) (Labels, error) {
	from, err := a.originOf(ctx, in)
	if err != nil {
		return Labels{}, err
	}
	if in.Run, err = a.refusable(ctx, in.Run, refusal, from); err != nil {
		return Labels{}, err
	}
	start, err := a.startOf(in, from)
	if err != nil {
		return Labels{}, err
	}
	start.State, start.Refusal, start.Reason = landscape.StartRefused, cmp.Or(refusal, RefusalService), BeforeRun(reason)
	if as == pipeline.Cancelled {
		start.State, start.Refusal = landscape.StartCancelled, ""
	}
	labels := a.labelsOfStart(ctx, start)
	labels.Pipeline = in.Pipeline // a file's name is not for Temporal
	return labels, store(ctx, start)
}

// refusable returns the id under which the refusal of an execution is recorded: that of the run, unless another
// request's start of the run is open. An invalid request, or one for something else, does not call that start off.
func (a *Activities) refusable(ctx context.Context, run, refusal string, from *origin) (string, error) {
	last, err := a.log.LastStart(ctx, run)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return run, nil
	case err != nil:
		return "", err
	case last.Decided != 0:
		return run, nil
	case refusal != TypeExists && (from.Workflow == WorkflowID(run) || from.asked == last.Workflow):
		return run, nil
	}
	return from.first, nil
}

// accept records the request for a run, unless the process that started the workflow did. It reports whether the run has
// begun already. The error is an *ExistsError if the start that is open asks for something else: then a stranger's
// workflow has the id of its run.
func (a *Activities) accept(ctx context.Context, in OpenInput, from *origin) (begun bool, err error) {
	start, err := a.startOf(in, from)
	if err != nil {
		return false, err
	}
	open, err := a.log.Accepted(ctx, start)
	switch {
	case errors.Is(err, landscape.ErrBegun): // by an earlier attempt
		return true, nil
	case err == nil && !in.asksFor(open, start):
		const why = "a start of run %s is open that asks for something else: give the new run another id"
		err = &ExistsError{Why: fmt.Sprintf(why, in.Run)}
	}
	return false, err
}

// asksFor reports whether the input, as the start asked words it, requests what the open start does. A process that
// executes its own runs accepts a file, or a version of a pipeline, under the name of the pipeline.
func (in OpenInput) asksFor(open, asked landscape.Start) bool {
	own := in.Pipeline == "" && (open.Environment == "" || in.Version > 0) && pipeline.CheckName(open.Pipeline) == nil
	return (own || open.Pipeline == asked.Pipeline) && (in.Environment == "" || open.Environment == asked.Environment) &&
		open.Rows == asked.Rows && open.Params == asked.Params
}

// startOf returns the start that an input asks for, with what Temporal knows of who asked.
func (a *Activities) startOf(in OpenInput, from *origin) (landscape.Start, error) {
	params, err := json.Marshal(in.Params)
	if err != nil {
		return landscape.Start{}, fmt.Errorf("parameters of run %s: %w", in.Run, err)
	}
	start := landscape.Start{
		Run: in.Run, Pipeline: cmp.Or(in.Pipeline, in.File), Environment: a.environment(in), Params: string(params), Why: in.Why, Key: in.Key, Schedule: from.Schedule, Slot: in.For,
		Workflow: from.asked, Rows: landscape.RowsText(in.Rows),
	}
	start.Actor, start.Trigger = from.who()
	return start, nil
}
