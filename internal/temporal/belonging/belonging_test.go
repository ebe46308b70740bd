package belonging_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"waymark/internal/temporal/belonging"
)

// TestWorkOfAnotherLandscapeGoesBack: whoever says where a workflow belongs, its activities are done by workers of that landscape alone.
func TestWorkOfAnotherLandscapeGoesBack(t *testing.T) {
	for name, test := range map[string]struct {
		header any    // with which the workflow is started; nil: none
		found  string // where it belongs, as its first activity says; "" if that says nothing
		done   bool   // by a worker with the landscape "ours"
	}{
		"nobody says":                       {nil, "", true},
		"who started it, and it is ours":    {"ours", "", true},
		"who started it, and it is another": {"theirs", "", false},
		"who began it, and it is ours":      {nil, "ours", true},
		"who began it, and it is another":   {nil, "theirs", false},
		"nonsense":                          {7, "", true},
	} {
		for _, local := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				var suite testsuite.WorkflowTestSuite
				env := suite.NewTestWorkflowEnvironment()
				var told []string
				guard := &belonging.Guard{ID: "ours", Other: func(workflow string, err error) { told = append(told, workflow+": "+err.Error()) }}
				env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{guard}})
				env.SetContextPropagators([]workflow.ContextPropagator{belonging.Propagator{}})
				if test.header != nil {
					value, err := converter.GetDefaultDataConverter().ToPayload(test.header)
					require.NoError(t, err)
					env.SetHeader(&commonpb.Header{Fields: map[string]*commonpb.Payload{"waymark-landscape": value}})
				}
				act := func(context.Context) error { return nil }
				env.RegisterActivity(act)
				env.ExecuteWorkflow(func(ctx workflow.Context) error {
					belonging.Set(ctx, test.found)
					once := &temporal.RetryPolicy{MaximumAttempts: 1}
					if local {
						ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Second, RetryPolicy: once})
						return workflow.ExecuteLocalActivity(ctx, act).Get(ctx, nil)
					}
					ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Second, RetryPolicy: once})
					return workflow.ExecuteActivity(ctx, act).Get(ctx, nil)
				})
				err := env.GetWorkflowError()
				if test.done {
					require.NoError(t, err)
					require.Empty(t, told)
					return
				}
				const says = "the run is recorded in the landscape theirs, and this worker has the landscape ours"
				require.ErrorContains(t, err, says)
				var application *temporal.ApplicationError
				require.ErrorAs(t, err, &application)
				require.False(t, application.NonRetryable(), "another worker may do it")
				require.Len(t, told, 1)
				require.Contains(t, told[0], says)
			})
		}
	}
}
