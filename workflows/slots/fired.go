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
	RingName = "RingSchedule"
	TurnName = "TurnSchedule"
)

// RingInput says which schedule rings.
type RingInput struct {
	Schedule string `json:"schedule"`
}

// Rang says which slots have runs that go on after a ring.
type Rang struct {
	Running []SlotRun `json:"running"`
}

// SlotRun is the run of a slot.
type SlotRun struct {
	Slot string `json:"slot"`
	Run  string `json:"run"`
}

// turnTimeout is how long one turn of a schedule may take.
const turnTimeout = time.Minute

// turnAttempts bounds for how long a ring is heard. What it was for is found without it, too.
const turnAttempts = 10

// Ring is the workflow that a schedule of Temporal starts: it has done what is due.
func Ring(ctx workflow.Context, in RingInput) (Rang, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: turnTimeout,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: turnAttempts},
		Summary:             "slots of a schedule",
	})
	var rang Rang
	err := workflow.ExecuteActivity(ctx, TurnName, in).Get(ctx, &rang)
	return rang, err
}

// Heard is the activity of Ring: a turn of the schedule.
func (k *Keeper) Heard(ctx context.Context, in RingInput) (Rang, error) {
	_, err := k.Turn(ctx, in.Schedule)
	if errors.Is(err, landscape.ErrNotFound) { // it never had one: nothing of ours rang
		problem := activities.ProblemOf(activities.TypeInput, err.Error())
		return Rang{}, temporal.NewNonRetryableApplicationError(problem.Detail, activities.TypeInput, nil, problem)
	}
	if err != nil {
		return Rang{}, err
	}
	running, err := k.Log.SlotsInState(ctx, in.Schedule, landscape.SlotRunning, 0, false)
	rang := Rang{Running: make([]SlotRun, 0, len(running))}
	for _, slot := range running {
		rang.Running = append(rang.Running, SlotRun{slot.Name, slot.Run})
	}
	return rang, err
}

// Register registers the workflow of rings, and the activity that hears them, with a worker.
func Register(w worker.Worker, k *Keeper) {
	w.RegisterWorkflowWithOptions(Ring, workflow.RegisterOptions{Name: RingName, VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	w.RegisterActivityWithOptions(k.Heard, activity.RegisterOptions{Name: TurnName})
}
