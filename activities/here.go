package activities

import (
	"context"
	"strings"

	"go.temporal.io/sdk/temporal"
)

// hereSuffix ends the names of activities that do what those without it do, in the process that has the task of the
// workflow.
const hereSuffix = "Here"

// Does returns the name of the activity that one with this name does: PassSmall for PassSmallHere.
func Does(name string) string { return strings.TrimSuffix(name, hereSuffix) }

// Here is the input of an activity that the process does that has the task of the workflow, and no other one.
type Here[In any] struct {
	Queue string `json:"queue,omitempty"` // of the workers that see the files of the run; "" if any worker does
	In    In     `json:"in"`
}

// Asked returns what the activity is asked for there.
func (h Here[In]) Asked() any { return h.In }

// Concluded is what ConcludeRunHere did.
type Concluded struct {
	FinishResult
	Sinks []string `json:"sinks"` // that were published: Temporal does not keep the input of what is done within a task
}

// OpenRunHere is OpenRun, if this process sees the files of the run. Else the error is of TypeElsewhere, and nothing
// was done.
func (a *Activities) OpenRunHere(ctx context.Context, in Here[OpenInput]) (Opened, error) {
	if err := a.sees(in.Queue); err != nil {
		return Opened{}, err
	}
	return a.OpenRun(ctx, in.In)
}

// PassSmallHere is PassSmall, if this process sees the files of the run. Else the error is of TypeElsewhere, and
// nothing was done.
func (a *Activities) PassSmallHere(ctx context.Context, in Here[SmallInput]) (SmallResult, error) {
	if err := a.sees(in.Queue); err != nil {
		return SmallResult{}, err
	}
	return a.PassSmall(ctx, in.In)
}

// StopRunHere is StopRun, if this process does activities: a run that is stopped need not wait for a place that its own
// chunks take. Else the error is of TypeElsewhere, and nothing was done.
func (a *Activities) StopRunHere(ctx context.Context, in Here[StopInput]) (Stopped, error) {
	if err := a.sees(in.Queue); err != nil {
		return Stopped{}, err
	}
	return a.StopRun(ctx, in.In)
}

// RecordActionHere is RecordAction, if this process does activities: an order need not wait until a place for an
// activity comes free. Else the error is of TypeElsewhere, and nothing was done.
func (a *Activities) RecordActionHere(ctx context.Context, in Here[ActionInput]) (Labelled, error) {
	if err := a.sees(in.Queue); err != nil {
		return Labelled{}, err
	}
	return a.RecordAction(ctx, in.In)
}

// ConcludeRunHere is ConcludeRun, if this process sees the files of the run. Else the error is of TypeElsewhere, and
// nothing was done.
func (a *Activities) ConcludeRunHere(ctx context.Context, in Here[ConcludeInput]) (Concluded, error) {
	if err := a.sees(in.Queue); err != nil {
		return Concluded{}, err
	}
	finished, err := a.ConcludeRun(ctx, in.In)
	return Concluded{finished, in.In.Sinks}, err
}

// sees requires that this process does activities, and polls the queue of the workers that see a run's files.
func (a *Activities) sees(queue string) error {
	switch {
	case a == nil:
		return temporal.NewApplicationError("this process only answers questions", TypeElsewhere)
	case queue == "" || queue == a.affinity.FilesQueue:
		return nil
	}
	return temporal.NewApplicationError("the files of the run are where "+queue+" is polled", TypeElsewhere)
}
