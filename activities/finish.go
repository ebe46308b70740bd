package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/activity"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
)

// FinishRun publishes the outputs that are left, and concludes a run: completed only if every row is accounted for,
// which is checked in the transaction that says so. Before that it removes what late attempts rebuilt beside the
// published outputs.
//
// It may run twice, as Publish may: a run that is concluded stays as it is. A *BatchError is about the outputs.
func (a *Activities) FinishRun(ctx context.Context, in FinishInput) (FinishResult, error) {
	return attempt(ctx, a, in.Run, in.Epoch, in, (*Activities).finishRun)
}

func (a *Activities) finishRun(ctx context.Context, in FinishInput) (FinishResult, error) {
	if err := a.publishAll(ctx, in); err != nil {
		return FinishResult{}, err
	}
	status, err := a.log.Conclude(ctx, in.Run)
	if err == nil {
		err = a.discardLate(ctx, in.Run)
	}
	if err == nil {
		err = a.log.FinishRun(ctx, in.Run, status, "")
	}
	if err == nil {
		err = a.forget(in.Run)
	}
	if err == nil {
		a.tellEnded(ctx, in.Joiners)
	}
	if err == nil {
		a.release(ctx, in.Run)
	}
	result := FinishResult{Status: status, Published: in.Sinks, Labels: a.labels(ctx)}
	if err == nil {
		result.Ending, err = a.ending(ctx, in.Run)
	}
	a.log.Release(in.Run)
	return result, err
}

// publishAll publishes the outputs of the sinks.
func (a *Activities) publishAll(ctx context.Context, in FinishInput) error {
	if len(in.Sinks) == 0 {
		return nil
	}
	r, err := a.get(ctx, in.Run)
	if err != nil {
		return err
	}
	return eachPiece(ctx, len(in.Sinks), inPassing, func(ctx context.Context, i int) error {
		return a.publish(ctx, r, PublishInput{in.Sinks[i]})
	})
}

// What an Ending has at most: it travels through workflow history. Of more refused tokens than maxRefused it takes too
// long to count them.
const (
	MaxOutputs   = 20
	MaxRefusedBy = 20
	maxPathBytes = 16 << 10 // of all outputs
	maxRefused   = 1_000_000
)

// ending reads what the run made of its rows.
func (a *Activities) ending(ctx context.Context, run string) (Ending, error) {
	artifacts, err := a.log.Artifacts(ctx, run)
	if err != nil {
		return Ending{}, err
	}
	codes, all, err := a.log.RefusedBy(ctx, run, maxRefused)
	if err != nil {
		return Ending{}, err
	}
	end, bytes := Ending{Partial: !all || len(codes) > MaxRefusedBy}, 0
	for i, artifact := range artifacts {
		if bytes += len(artifact.Path); i == MaxOutputs || bytes > maxPathBytes {
			end.Partial = true
			break
		}
		end.Outputs = append(end.Outputs, Output{artifact.Sink, artifact.Path, artifact.SHA256, artifact.Rows, artifact.Bytes})
	}
	for code, rows := range codes {
		end.RefusedBy = append(end.RefusedBy, Refusal{code, rows})
	}
	slices.SortFunc(end.RefusedBy, func(a, b Refusal) int { return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Code, b.Code)) })
	end.RefusedBy = end.RefusedBy[:min(len(end.RefusedBy), MaxRefusedBy)]
	return end, nil
}

// discardLate removes what attempts at opening made after the outputs were moved to their places.
func (a *Activities) discardLate(ctx context.Context, id string) error {
	return a.discard(ctx, id, func(sink string) (bool, error) { return a.published(ctx, id, sink) })
}

// discard removes what the run staged for those of its sinks that are chosen.
func (a *Activities) discard(ctx context.Context, id string, chosen func(sink string) (bool, error)) error {
	r, err := a.get(ctx, id)
	if err != nil {
		return err
	}
	return r.eachSink(func(node *plan.Node) error {
		ok, err := chosen(node.Name)
		if err == nil && ok {
			err = node.Sink.Target(id).Discard(ctx)
		}
		return err
	})
}

// StopRun records that a run ended before it was complete, and why. What the run staged for its sinks is kept for a
// resume, or removed if the run cannot be resumed. If the run's record was never begun, the start is refused. If the
// epoch was never begun, because the run could not be resumed, nothing is recorded.
//
// It may run twice: a run that was stopped stays as it is, no matter what stopped it.
func (a *Activities) StopRun(ctx context.Context, in StopInput) (Stopped, error) {
	stop := func(a *Activities, ctx context.Context, in StopInput) (stopped Stopped, err error) {
		a.flights.stop(activity.GetInfo(ctx).WorkflowExecution.RunID, in.Run)
		if in.Outside {
			stopped.Replaced, err = a.replaced(ctx, in.Run)
			in.Reason = cmp.Or(stopped.Replaced, cancelledBy(ctx))
			stopped.Reason = in.Reason
		}
		if err == nil {
			stopped.Labels, err = a.stopRun(ctx, in)
		}
		if err == nil {
			a.release(ctx, in.Run)
			a.tellEnded(ctx, in.Joiners)
		}
		return stopped, err
	}
	return anyAttempt(ctx, a, in.Run, in.Epoch, in, stop)
}

func (a *Activities) stopRun(ctx context.Context, in StopInput) (Labels, error) {
	on, err := a.log.Run(ctx, in.Run)
	switch {
	case errors.Is(err, landscape.ErrNotFound) && in.Begin != nil && in.Begin.Again && errors.Is(a.decided(ctx, *in.Begin, &origin{}), landscape.ErrCalledOff):
		return a.labels(ctx), a.forget(in.Run) // somebody was faster
	case errors.Is(err, landscape.ErrNotFound) && in.Begin != nil:
		labels, err := a.refuse(ctx, *in.Begin, in.Status, in.Refusal, in.Reason, a.log.CallOff)
		if errors.Is(err, landscape.ErrBegun) { // by an attempt at opening it that nobody waited for
			return a.stopRun(ctx, in)
		}
		return labels, errors.Join(err, a.forget(in.Run))
	case errors.Is(err, landscape.ErrNotFound), err == nil && on.Epoch < in.Epoch:
		return a.labels(ctx), a.forget(in.Run)
	}
	if err == nil {
		err = a.own(ctx, in.Run, in.Epoch)
	}
	if err != nil {
		return Labels{}, err
	}
	labels := a.labels(ctx)
	if labels.Status = string(on.Status); in.Final {
		labels.Status = string(in.Status)
	}
	if on.Status == pipeline.Running { // else somebody has said already why it stopped
		labels.Status = string(in.Status)
		err = a.log.StopRun(ctx, in.Run, in.Status, in.Reason)
	}
	if err == nil && in.Final {
		err = a.log.CancelRun(ctx, in.Run, true, in.Actor, in.Why)
	}
	if err == nil && in.Final {
		err = a.discardAll(ctx, in.Run)
	}
	return labels, errors.Join(err, a.forget(in.Run))
}

// replaced returns the reason of a cancellation by a run that takes the place of this one; "" if another cause cancelled
// it. Cancelling a workflow in Temporal carries no reason. The run that takes the place records a command first, which is
// then the last command since this run was resumed.
func (a *Activities) replaced(ctx context.Context, run string) (string, error) {
	actions, err := a.log.Actions(ctx, run)
	if err != nil || len(actions) == 0 {
		return "", err
	}
	resumed, err := a.log.Resumptions(ctx, run)
	last, n := actions[len(actions)-1], len(resumed)
	if err != nil || last.Verb != landscape.VerbCancel || last.Why != takesPlace || n > 0 && last.At < resumed[n-1].At {
		return "", err
	}
	return fmt.Sprintf("cancelled by %s: %s", last.Actor, takesPlace), nil
}

// Discard removes what the run staged and did not publish. It is for runs that nobody may resume. It may be repeated; a
// run that is not recorded has staged nothing. It is not a method: those are activities, which anybody at Temporal
// starts.
func Discard(ctx context.Context, a *Activities, id string) error { return a.discardAll(ctx, id) }

func (a *Activities) discardAll(ctx context.Context, id string) error {
	err := a.discard(ctx, id, func(string) (bool, error) { return true, nil })
	if errors.Is(err, landscape.ErrNotFound) {
		return nil
	}
	return err
}

// RecordAction records what a person, or something that acts for one, ordered.
//
// It may run twice: an equal order that is recorded since it came is not recorded again.
func (a *Activities) RecordAction(ctx context.Context, in ActionInput) (Labelled, error) {
	record := func(a *Activities, ctx context.Context, in ActionInput) (Labelled, error) {
		return Labelled{a.labels(ctx)}, a.log.RecordOrder(ctx, in.Run, in.Verb, in.Actor, in.Why, landscape.Micros(in.At))
	}
	return attempt(ctx, a, in.Run, in.Epoch, in, record)
}
