package workflows_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/pipeline"
	"waymark/workflows"
)

// forgetfulWorld is a world whose record cannot take orders.
type forgetfulWorld struct {
	world
	asked atomic.Int64
}

func (w *forgetfulWorld) RecordAction(context.Context, activities.ActionInput) error {
	w.asked.Add(1)
	return temporal.NewNonRetryableApplicationError("the record is read-only", activities.TypeReadOnly, nil)
}

// TestAnOrderThatIsNotOnRecordIsNotObeyed gives orders that cannot be recorded: whoever gave one is told, and the run goes on to
// its end.
func TestAnOrderThatIsNotOnRecordIsNotObeyed(t *testing.T) {
	for _, name := range []string{workflows.PauseUpdate, workflows.CancelUpdate} {
		t.Run(name, func(t *testing.T) {
			w := &forgetfulWorld{world: world{chunks: []activities.ProcessResult{parts(1, 0), parts(1, 0), parts(1, 0)}}}
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			env.SetWorkerOptions(patient)
			env.RegisterWorkflow(workflows.RunPipeline)
			env.RegisterActivity(w)
			var told error
			given := false
			env.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
				if info.ActivityType.Name != "OpenRun" || given {
					return
				}
				given = true
				env.UpdateWorkflow(name, name, &testsuite.TestUpdateCallback{
					OnReject: func(err error) { t.Errorf("rejected: %v", err) }, OnComplete: func(_ any, err error) { told = err },
				}, workflows.Order{Actor: "ann", Why: "to look"})
			})
			env.ExecuteWorkflow(workflows.RunPipeline, input())
			require.NoError(t, env.GetWorkflowError())
			require.EqualValues(t, 1, w.asked.Load())
			require.ErrorContains(t, told, "the record is read-only")
			require.Equal(t, "finish", w.done[len(w.done)-1])
			require.Nil(t, w.stopped)
			var result workflows.RunResult
			require.NoError(t, env.GetWorkflowResult(&result))
			require.Equal(t, pipeline.Completed, result.Status)
		})
	}
}
