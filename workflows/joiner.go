package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/pipeline"
)

// How often somebody whose result is that of another run looks how that is. Its workflow tells when it ends, unless
// somebody terminates that, or it is resumed elsewhere.
const (
	firstLook = time.Second
	maxLook   = time.Minute
)

// maxJoiners bounds the state of a run: further ones learn of its end when they look.
const maxJoiners = 100

// maxIDBytes is how long ids of workflows are at most, and names of queues: Temporal takes no longer ones.
const maxIDBytes = 1000

// joiners returns the workflows that wait for the end of this one's run, without duplicates: those of which earlier
// executions knew, and those that have said so since.
func joiners(ctx workflow.Context, known *State) (all []string) {
	if known != nil {
		all = known.Joiners
	}
	said := workflow.GetSignalChannel(ctx, activities.JoinedSignal)
	for joiner := (activities.Joiner{}); said.ReceiveAsync(&joiner); joiner = (activities.Joiner{}) {
		isID := joiner.Workflow != "" && len(joiner.Workflow) <= maxIDBytes
		if isID && len(all) < maxJoiners && !slices.Contains(all, joiner.Workflow) {
			all = append(all, joiner.Workflow)
		}
	}
	return all
}

// awaitEnd waits until the workflow of another run tells that it ended, or for a pause.
func awaitEnd(ctx workflow.Context, pause time.Duration) error {
	told := workflow.GetSignalChannel(ctx, activities.EndedSignal)
	if _, err := workflow.AwaitWithTimeout(ctx, pause, func() bool { return told.Len() > 0 }); err != nil {
		return err
	}
	for told.ReceiveAsync(nil) {
	}
	return nil
}

// NotJoined is how a start ends whose result would be that of a run that did not begin.
func NotJoined(run, why string) error {
	return failure(TypeRunFailed, "run %s, whose result would be that of this one, did not begin: %s", run, why)
}

// joined waits for the end of a run that somebody else asked for, and returns its result.
func joined(ctx workflow.Context, run string) (RunResult, error) {
	in := RunInput{OpenInput: activities.OpenInput{Run: run}}
	find := activities.FindInput{OpenInput: in.OpenInput, Joins: true}
	for pause := firstLook; ; pause = min(2*pause, maxLook) {
		var found activities.Keyed
		if err := workflow.ExecuteActivity(withActivity(ctx, "look at run %s", run), act.FindKeyed, find).Get(ctx, &found); err != nil {
			return RunResult{}, err
		}
		switch {
		case found.None != "":
			return RunResult{}, NotJoined(run, found.None)
		case found.Status != "" && found.Status != pipeline.Running:
			return in.ended(found)
		}
		find.Joins = find.Joins && !found.WillTell
		if err := awaitEnd(ctx, pause); err != nil {
			return RunResult{}, err
		}
	}
}
