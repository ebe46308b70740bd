package workflows

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
)

// onRecord returns what an activity found that was rejected because the run is recorded, and whether this execution may
// resume it.
func onRecord(err error) (found activities.Found, resumable bool) {
	var application *temporal.ApplicationError
	if !errors.As(err, &application) || application.Type() != activities.TypeExists || !application.HasDetails() {
		return found, false
	}
	return found, application.Details(&found) == nil && found.Resumable
}

// resumed returns the input that resumes the run that was found on record.
func (in *RunInput) resumed(found activities.Found) RunInput {
	resume := activities.ResumeInput{Run: in.Run, Epoch: found.Epoch + 1, Why: "started or reset again in Temporal", Pause: found.Pause, Files: in.Files}
	if in.Resume != nil {
		resume.Files = in.Resume.Files
	}
	return RunInput{OpenInput: activities.OpenInput{Run: in.Run, Files: in.Files}, Resume: &resume, handler: in.handler}
}

// begin opens a run, or finds out where the one stands that is resumed: one that is recorded is never begun a second
// time.
func begin(ctx workflow.Context, in *RunInput) (*State, activities.Labels, error) {
	state, labels, err := beginOnce(ctx, in)
	if found, resumable := onRecord(err); resumable {
		*in = in.resumed(found)
		return beginOnce(ctx, in)
	}
	return state, labels, err
}

func beginOnce(ctx workflow.Context, in *RunInput) (*State, activities.Labels, error) {
	if in.Resume == nil {
		return open(ctx, in.handler, &in.OpenInput)
	}
	in.Resume.Run = in.Run
	var resumed activities.Resumed
	if err := resume(ctx, *in.Resume).Get(ctx, &resumed); err != nil {
		return nil, activities.Labels{}, err
	}
	state := State{State: resumed.State, Sticky: resumed.Plan.Worker}
	if pause := state.Pause; pause != nil {
		state.Paused, state.Pause = &Command{Actor: pause.Actor, Why: pause.Why}, nil
	}
	return &state, resumed.Labels, nil
}

// resume resumes a run, on a worker that sees what those saw who began it, if one comes in time.
func resume(ctx workflow.Context, in activities.ResumeInput) workflow.Future {
	ctx = withActivity(ctx, "resume run %s", in.Run)
	if in.Files != "" {
		future := workflow.ExecuteActivity(soon(onQueue(ctx, filesQueue(ctx, in.Files)), stickyTimeout), act.ResumeRun, in)
		if !notFetched(future.Get(ctx, nil)) {
			return future
		}
	}
	return workflow.ExecuteActivity(ctx, act.ResumeRun, in)
}

// filesQueue returns the queue of the workers that see the files, beside the workflow's own.
func filesQueue(ctx workflow.Context, files string) string {
	return FilesQueue(workflow.GetInfo(ctx).TaskQueueName, files)
}

// openNow begins the run's record, unless the run may not begin now.
func openNow(ctx workflow.Context, in activities.OpenInput) (opened activities.Opened, err error) {
	schedule := func(ctx workflow.Context) workflow.Future {
		if in.Files != "" {
			ctx = soon(onQueue(ctx, filesQueue(ctx, in.Files)), seenTimeout)
		}
		return workflow.ExecuteActivity(ctx, act.OpenRun, in)
	}
	err = local(ctx, "open run", act.OpenRun, in, &opened, schedule)
	if notFetched(err) {
		err = failure(TypeNoWorker, "no worker that sees the files of %q came for the run within %s: "+
			"start one there, or one that sees the same files with --files %s", in.Files, seenTimeout, in.Files)
	}
	return opened, err
}
