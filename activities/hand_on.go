package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// HandOnInput is a command to a run that its sender gave to the workflow which they started for it, under an id of
// their own.
type HandOnInput struct {
	Workflow string `json:"workflow"` // of the run
	Name     string `json:"name"`     // of the update
	ID       string `json:"id"`       // of the update: a repeat has the same
	Command  any    `json:"command"`  // as it was given, without what is unknown
}

// commandPatience is how long one attempt waits for the run to obey. It is short: the run's activities need the place
// that the attempt takes.
const commandPatience = 5 * time.Second

// HandOn gives a command to the workflow of a run, and returns when the run has obeyed it. What the run refuses, no
// retry cures.
//
// It may run twice: by its id, the workflow knows a command that it has.
func (a *Activities) HandOn(ctx context.Context, in HandOnInput) error {
	if err := in.handsOn(); err != nil {
		return toTemporal(err)
	}
	patience, done := context.WithTimeout(ctx, commandPatience)
	defer done()
	handle, err := activity.GetClient(ctx).UpdateWorkflow(patience, client.UpdateWorkflowOptions{
		WorkflowID: in.Workflow, UpdateID: in.ID, UpdateName: in.Name, Args: []any{in.Command}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(patience, nil)
	}
	if _, closed := errors.AsType[*serviceerror.NotFound](err); closed {
		ended := fmt.Sprintf("workflow %s has ended: there is nothing to order", in.Workflow)
		return temporal.NewNonRetryableApplicationError(ended, TypeCommandRefused, nil, ProblemOf(TypeCommandRefused, ended))
	}
	refusal, refused := errors.AsType[*temporal.ApplicationError](err)
	if !refused {
		return err
	}
	return handedOn(refusal)
}

// handedOn is a refusal as who gave the order reads it: with its own type, words and Problem, and without what it went
// through.
func handedOn(refusal *temporal.ApplicationError) error {
	kind, message := refusal.Type(), refusal.Message()
	var problem Problem
	if refusal.Details(&problem) != nil {
		problem = ProblemOf(kind, message)
	}
	return temporal.NewNonRetryableApplicationError(message, kind, nil, problem)
}
