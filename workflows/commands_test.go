package workflows_test

import (
	"context"
	"encoding/json"
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

// TestAnOrderThatIsNotOnRecordIsNotObeyed gives orders that cannot be recorded: whoever gave one is told, and the run continues to
// its end.
func TestAnOrderThatIsNotOnRecordIsNotObeyed(t *testing.T) {
	for _, name := range []string{workflows.PauseUpdate, workflows.CancelUpdate} {
		t.Run(name, func(t *testing.T) {
			w := &forgetfulWorld{world: world{chunks: []activities.ProcessResult{parts(1, 0), parts(1, 0), parts(1, 0)}}}
			env := newEnvironment(t)
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
				}, workflows.Command{Actor: "ann", Why: "to look"})
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

// TestAnOrderSaysWhoAndWhy gives orders as people write them in Temporal's own tools. What is rejected is not recorded.
func TestAnOrderSaysWhoAndWhy(t *testing.T) {
	for name, c := range map[string]struct{ verb, text, says string }{
		"nothing":              {workflows.PauseUpdate, `{}`, "the order does not say who gives it: actor; the order does not say why, for the record: why"},
		"blank words":          {workflows.CancelUpdate, `{"actor":" ","why":"\n"}`, "does not say who"},
		"no reason":            {workflows.ContinueUpdate, `{"actor":"ann"}`, "the order does not say why"},
		"an unknown key":       {workflows.PauseUpdate, `{"actor":"ann","why":"to look","reason":"x"}`, `the order has the unknown key "reason"; it may have actor, why`},
		"a typing error":       {workflows.PauseUpdate, `{"actr":"ann","why":"to look"}`, `the order has the unknown key "actr" (did you mean "actor"?)`},
		"a number":             {workflows.PauseUpdate, `{"actor":5,"why":"to look"}`, "the order's actor must be a string, and is of the type number"},
		"a text":               {workflows.PauseUpdate, `"stop"`, `the order is no object: write {"actor": "NAME", "why": "TEXT"}`},
		"a pause permanently":  {workflows.PauseUpdate, `{"actor":"ann","why":"to look","final":true}`, "as and final are for cancel"},
		"an end of its own":    {workflows.CancelUpdate, `{"actor":"ann","why":"enough","as":"completed"}`, `the order's as is "completed": write cancelled or interrupted`},
		"interrupted for ever": {workflows.CancelUpdate, `{"actor":"ann","why":"enough","as":"interrupted","final":true}`, "it is not final"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &forgetfulWorld{world: world{chunks: []activities.ProcessResult{parts(1, 0), parts(1, 0), parts(1, 0)}}}
			env := newEnvironment(t)
			env.RegisterActivity(w)
			var told error
			env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if info.ActivityType.Name != "ReadChunk" || told != nil {
					return
				}
				env.UpdateWorkflow(c.verb, "", &testsuite.TestUpdateCallback{
					OnAccept: func() { t.Error("accepted") }, OnReject: func(err error) { told = err }, OnComplete: func(any, error) {},
				}, json.RawMessage(c.text))
			})
			env.ExecuteWorkflow(workflows.RunPipeline, input())
			require.NoError(t, env.GetWorkflowError())
			var application *temporal.ApplicationError
			require.ErrorAs(t, told, &application)
			require.Contains(t, application.Message(), c.says)
			require.Equal(t, activities.TypeInput, application.Type())
			require.Zero(t, w.asked.Load())
		})
	}
}
