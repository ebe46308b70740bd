package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// localTimeout bounds what is done within a task: until it ends, no command reaches the run.
const localTimeout = 3 * time.Second

// local lets the process that has the task of the workflow do what an activity would do, if it can: to schedule an
// activity takes Temporal several times as long as what takes little. If that comes to nothing, or takes long, the
// activity is scheduled, and does it with all patience: it may be done twice.
func local(
	ctx workflow.Context, summary string, activity, in, out any, schedule func(workflow.Context) workflow.Future,
) error {
	once := workflow.LocalActivityOptions{
		StartToCloseTimeout: localTimeout,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             clipped(summary, mostSummary),
	}
	err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, once), activity, in).Get(ctx, out)
	if final, ok := errors.AsType[*temporal.ApplicationError](err); err == nil || ok && final.NonRetryable() {
		return err
	}
	return schedule(withActivity(ctx, "%s", summary)).Get(ctx, out)
}
