package workflows

import (
	"cmp"
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/pipeline"
)

// conclude records why a run did not begin, or stopped.
func conclude(ctx workflow.Context, in RunInput, result RunResult, err error) (RunResult, error) {
	if held := (*withheld)(nil); errors.As(err, &held) {
		return held.result, held.cause
	}
	if err == nil || workflow.IsContinueAsNewError(err) {
		return result, err
	}
	if found, resumable := onRecord(err); resumable && in.State != nil {
		return result, workflow.NewContinueAsNewError(ctx, RunPipelineName, in.resumed(found))
	}
	if kind(err) == activities.TypeExists && in.beginning() != nil {
		return result, refuse(ctx, in, err)
	}
	stopped, unrecorded := stop(ctx, in, err)
	switch {
	case unrecorded != nil:
		return result, errors.Join(err, unrecorded)
	case stopped.Replaced != "": // nobody cancelled its workflow by hand: its end has a reason
		result = in.result(pipeline.Cancelled)
		result.Reason = stopped.Replaced
		return result, nil
	case temporal.IsCanceledError(err) && stopped.Reason != "":
		err = temporal.NewCanceledError(activities.ProblemOf(activities.TypeCancelled, stopped.Reason))
	}
	return result, err
}

// finish publishes every sink and concludes the run. Sinks are published only now, when all rows are accounted for:
// each large output by an activity, the others by the one that concludes the run.
func finish(ctx workflow.Context, in RunInput) (RunResult, error) {
	large, small := in.outputs()
	if err := publish(ctx, in, large); err != nil {
		return RunResult{}, err
	}
	in.State.Joiners = joiners(ctx, in.State)
	concluded := activities.FinishInput{
		Run: in.Run, Epoch: in.epoch(), Sinks: small, Queue: in.queue(), Joiners: in.State.Joiners,
	}
	schedule := func(ctx workflow.Context) workflow.Future {
		return workflow.ExecuteActivity(onQueue(ctx, in.queue()), act.FinishRun, concluded)
	}
	summary := "balance and conclude"
	if len(small) > 0 {
		summary = "publish, balance and conclude"
	}
	var finished activities.FinishResult
	var err error
	if choose(in.State).small {
		err = local(ctx, summary, act.FinishRun, concluded, &finished, schedule)
	} else {
		err = schedule(withActivity(ctx, "%s", summary)).Get(ctx, &finished)
	}
	if err != nil {
		return RunResult{}, err
	}
	result := in.result(finished.Status)
	result.Ending = finished.Ending
	showEnd(ctx, finished.Labels, string(finished.Status), result)
	in.detailEnd(ctx, string(finished.Status), "")
	return result, nil
}

// outputs returns the sinks by the size of their outputs.
func (in *RunInput) outputs() (large, small []string) {
	for i, sink := range in.State.Plan.Sinks {
		if in.State.Outputs[i].Offset > smallBytes {
			large = append(large, sink.Name)
		} else {
			small = append(small, sink.Name)
		}
	}
	return large, small
}

// publish publishes the outputs of sinks, side by side.
func publish(ctx workflow.Context, in RunInput, sinks []string) error {
	published := make([]workflow.Future, len(sinks))
	for i, sink := range sinks {
		ctx := onQueue(withActivity(ctx, "publish %s", sink), in.queue())
		one := activities.Batch[activities.PublishInput]{
			Run: in.Run, Epoch: in.epoch(), Each: []activities.PublishInput{{Sink: sink}},
		}
		published[i] = workflow.ExecuteActivity(ctx, act.Publish, one)
	}
	for _, future := range published {
		if err := future.Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// stop records why the run ended. It runs on a context of its own, because the run's may be cancelled. A run that
// another execution resumed, or that cannot be resumed, is not ours to stop.
func stop(ctx workflow.Context, in RunInput, cause error) (stopped activities.Stopped, err error) {
	command := activities.StopInput{
		Run: in.Run, Epoch: in.epoch(), Status: pipeline.Failed, Reason: reason(cause), Begin: in.beginning(), Refusal: kind(cause),
		Joiners: joiners(ctx, in.State),
	}
	switch {
	case temporal.IsCanceledError(cause):
		command.Status, command.Outside, command.Reason = pipeline.Cancelled, true, "cancelled in Temporal"
	case kind(cause) == activities.TypeBlocked, kind(cause) == activities.TypePolicy:
		command.Status = pipeline.Blocked
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	err = recordStop(ctx, command, &stopped)
	if k := kind(err); k == activities.TypeSuperseded || k == activities.TypeExists {
		return activities.Stopped{}, nil
	}
	in.showStop(ctx, stopped.Labels, command.Status)
	in.detailEnd(ctx, cmp.Or(stopped.Labels.Status, string(command.Status)), cmp.Or(stopped.Replaced, stopped.Reason, command.Reason))
	return stopped, err
}

// showStop shows how a run ended before it was complete. Of one that did not begin nothing was shown until now.
func (in *RunInput) showStop(ctx workflow.Context, labels activities.Labels, as pipeline.RunStatus) {
	status := cmp.Or(labels.Status, string(as))
	if in.State == nil {
		showRun(ctx, in.Run, labels, status)
		return
	}
	showEnd(ctx, labels, status, in.result(as))
}

// cancel records that somebody stopped the run. What is done is recorded.
func cancel(ctx workflow.Context, in RunInput, command Command) (RunResult, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	stopped := activities.StopInput{
		Run: in.Run, Epoch: in.epoch(), Status: command.As, Reason: command.Sentence(), Final: command.Final, Actor: command.Actor, Why: command.Why,
		Joiners: joiners(ctx, in.State),
	}
	if command.Final { // what the run staged is removed
		stopped.Queue = in.queue()
	}
	var labelled activities.Labelled
	err := recordStop(ctx, stopped, &labelled)
	in.showStop(ctx, labelled.Labels, command.As)
	in.detailCancelled(ctx, command)
	result := in.result(command.As)
	result.Reason = command.Sentence()
	return result, err
}

// recordStop has the end of a run recorded: within the task of the workflow, because chunks of the run that is stopped
// may have all places for activities.
func recordStop(ctx workflow.Context, in activities.StopInput, out any) error {
	schedule := func(ctx workflow.Context) workflow.Future {
		return workflow.ExecuteActivity(onQueue(ctx, in.Queue), act.StopRun, in)
	}
	return local(ctx, "record the stop", act.StopRun, in, out, schedule)
}
