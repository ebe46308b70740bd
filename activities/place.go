package activities

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// placed is the input of an activity that needs a process which sees the files of its run.
type placed interface {
	// seenAt reports whether a process at the place sees them.
	seenAt(Affinity) bool
}

// requirePlace refuses work within a task of the workflow if this process cannot do it: because it only answers
// questions, or does not see the files of the run. Then the error is of TypeElsewhere, and nothing was done. An
// activity that is scheduled comes to a process that can.
func (a *Activities) requirePlace(ctx context.Context, in any) error {
	if !activity.GetInfo(ctx).IsLocalActivity {
		return nil
	}
	if a == nil {
		return temporal.NewApplicationError("this process only answers questions", TypeElsewhere)
	}
	if files, ok := in.(placed); ok && !files.seenAt(a.affinity) {
		return temporal.NewApplicationError("this process does not see the files of the run", TypeElsewhere)
	}
	return nil
}

// polls reports whether a process at the place polls the queue of the workers that see a run's files. The queue is "" if
// any worker can do the run.
func (a Affinity) polls(queue string) bool { return queue == "" || queue == a.FilesQueue }

func (in OpenInput) seenAt(place Affinity) bool     { return in.Files == "" || in.Files == place.Files }
func (in SmallRunInput) seenAt(place Affinity) bool { return place.polls(in.State.Plan.Queue) }
func (in FinishInput) seenAt(place Affinity) bool   { return place.polls(in.Queue) }
func (in StopInput) seenAt(place Affinity) bool     { return place.polls(in.Queue) }
