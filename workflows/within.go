package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// withinTimeout bounds what is done within a task: meanwhile no order reaches the run.
const withinTimeout = 3 * time.Second

// within lets the process that has the task of the workflow do what an activity would do, if it can: to schedule an activity takes Temporal several times as long as
// what takes little. If done is false, it came to nothing, or took long; then the activity must do it, with all patience: it may be done twice.
func within(ctx workflow.Context, summary string, here, in, out any) (done bool, err error) {
	once := workflow.LocalActivityOptions{
		StartToCloseTimeout: withinTimeout,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             clipped(summary, mostSummary),
	}
	err = workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, once), here, in).Get(ctx, out)
	final, ok := errors.AsType[*temporal.ApplicationError](err)
	return err == nil || ok && final.NonRetryable(), err
}
