package workflows

import (
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
)

// Preflight is a workflow of one activity: a worker looks at the places that a version would read and write.
func Preflight(ctx workflow.Context, in activities.PreflightInput) (found activities.Preflight, err error) {
	policy := *retryPolicy()
	policy.MaximumAttempts = refusalAttempts
	ctx = workflow.WithRetryPolicy(withActivity(ctx, "look at what a version would read and write"), policy)
	err = workflow.ExecuteActivity(ctx, act.Preflight, in).Get(ctx, &found)
	return found, err
}
