package slots

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/landscape"
)

// Names under which Temporal's schedules start what does their work. Stored there; never rename.
const (
	FiredName = "ScheduleFired"
	TurnName  = "TurnSchedule"
)

// FiredInput says which schedule fired.
type FiredInput struct {
	Schedule string `json:"schedule"`
}

// FiredResult says which slots have runs that go on after the schedule fired.
type FiredResult struct {
	Running []SlotRun `json:"running"`
}

// SlotRun is the run of a slot.
type SlotRun struct {
	Slot string `json:"slot"`
	Run  string `json:"run"`
}

// turnTimeout is how long one turn of a schedule may take, and turnInTask how long within the task of the workflow.
const (
	turnTimeout = time.Minute
	turnInTask  = 3 * time.Second
)

// turnAttempts bounds how often the turn is tried. What the schedule fired for is found without it, too.
const turnAttempts = 10

// ScheduleFired is the workflow that a schedule of Temporal starts: it has done what is due. The process that has the
// task does that, if it can: many schedules fire at the same moment, and an activity costs Temporal more than the turn.
func ScheduleFired(ctx workflow.Context, in FiredInput) (result FiredResult, err error) {
	const summary = "slots of a schedule"
	once := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: turnInTask,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             summary,
	})
	if err = workflow.ExecuteLocalActivity(once, TurnName, in).Get(ctx, &result); err == nil {
		return result, nil
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: turnTimeout,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: turnAttempts},
		Summary:             summary,
	})
	err = workflow.ExecuteActivity(ctx, TurnName, in).Get(ctx, &result)
	return result, err
}

// TurnSchedule is the activity of ScheduleFired: a turn of the schedule.
func (k *Keeper) TurnSchedule(ctx context.Context, in FiredInput) (FiredResult, error) {
	err := k.Turn(ctx, in.Schedule)
	if errors.Is(err, landscape.ErrNotFound) { // it never had one: nothing of ours fired
		problem := activities.ProblemOf(activities.TypeInput, err.Error())
		return FiredResult{}, temporal.NewNonRetryableApplicationError(problem.Detail, activities.TypeInput, nil, problem)
	}
	if err != nil {
		return FiredResult{}, err
	}
	running, err := k.Log.SlotsInState(ctx, in.Schedule, landscape.SlotRunning, 0, false)
	result := FiredResult{Running: make([]SlotRun, 0, len(running))}
	for _, slot := range running {
		result.Running = append(result.Running, SlotRun{slot.Name, slot.Run})
	}
	return result, err
}

// Register registers ScheduleFired and its activity with a worker.
func Register(w worker.Worker, k *Keeper) {
	w.RegisterWorkflowWithOptions(ScheduleFired,
		workflow.RegisterOptions{Name: FiredName, VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	w.RegisterActivityWithOptions(k.TurnSchedule, activity.RegisterOptions{Name: TurnName})
}
