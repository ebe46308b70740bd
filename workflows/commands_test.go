package workflows_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/landscape"
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

// TestAnOrderThatIsNotOnRecordIsNotObeyed gives orders that cannot be recorded: whoever gave one is told, and the run
// continues to its end.
func TestAnOrderThatIsNotOnRecordIsNotObeyed(t *testing.T) {
	for _, name := range []string{workflows.PauseUpdate, workflows.CancelUpdate} {
		t.Run(name, func(t *testing.T) {
			w := &forgetfulWorld{world: world{chunks: []activities.PassResult{parts(1, 0), parts(1, 0), parts(1, 0)}}}
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
			require.Equal(t, "finish after a, b", w.done[len(w.done)-1])
			require.Nil(t, w.stopped)
			var result workflows.RunResult
			require.NoError(t, env.GetWorkflowResult(&result))
			require.Equal(t, pipeline.Completed, result.Status)
		})
	}
}

// answer is what became of an order.
type answer struct {
	rejected, accepted bool
	err                error
}

// orderWhileOpening gives orders while OpenRun is under way: in the first workflow task, and when the activity has
// started. It returns what became of them when the workflow has ended.
func orderWhileOpening(t *testing.T, env *testsuite.TestWorkflowEnvironment, name string) []*answer {
	t.Helper()
	var answers []*answer
	order := func() {
		a := &answer{}
		answers = append(answers, a)
		env.UpdateWorkflow(name, "", &testsuite.TestUpdateCallback{
			OnAccept: func() { a.accepted = true }, OnReject: func(err error) { a.rejected, a.err = true, err }, OnComplete: func(_ any, err error) { a.err = err },
		}, workflows.Command{Actor: "ann", Why: "to look"})
	}
	env.RegisterDelayedCallback(order, 0)
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "OpenRun" && len(answers) == 1 {
			require.Equal(t, workflows.View{Run: "r1", Workflow: "run-r1", Status: "accepted"}, progress(t, env))
			order()
		}
	})
	env.ExecuteWorkflow(workflows.RunPipeline, input())
	require.Len(t, answers, 2)
	return answers
}

// progress asks the workflow how its run is.
func progress(t *testing.T, env *testsuite.TestWorkflowEnvironment) (view workflows.View) {
	t.Helper()
	seen, err := env.QueryWorkflow(workflows.ProgressQuery)
	require.NoError(t, err)
	require.NoError(t, seen.Get(&view))
	return view
}

// TestAnOrderThatComesBeforeTheRunIsOpenWaits until it is: then the run obeys it.
func TestAnOrderThatComesBeforeTheRunIsOpenWaits(t *testing.T) {
	w := &world{chunks: []activities.PassResult{parts(1, 0)}}
	env := newEnvironment(t)
	env.RegisterActivity(w)
	for _, a := range orderWhileOpening(t, env, workflows.CancelUpdate) {
		require.Equal(t, answer{accepted: true}, *a)
	}
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, "cancelled by ann: to look", w.stopped.Reason)
	require.Len(t, w.actions, 2)
}

// TestAnOrderToARunThatIsNotOpened ends with the reason why no run begins, and does not outlast the workflow.
func TestAnOrderToARunThatIsNotOpened(t *testing.T) {
	w := &world{fail: map[string]error{"OpenRun": temporal.NewNonRetryableApplicationError("orders.yaml: no such file", activities.TypeInput, nil)}}
	env := newEnvironment(t)
	env.RegisterActivity(w)
	for _, a := range orderWhileOpening(t, env, workflows.PauseUpdate) {
		require.True(t, a.accepted)
		var application *temporal.ApplicationError
		require.ErrorAs(t, a.err, &application)
		require.Equal(t, "run r1 did not begin: orders.yaml: no such file", application.Message())
		require.Equal(t, activities.TypeInput, application.Type())
	}
	require.ErrorContains(t, env.GetWorkflowError(), "no such file")
	require.Empty(t, w.actions)
	require.Equal(t, string(pipeline.Failed), progress(t, env).Status)
}

// TestAnOrderToARunThatTurnsOutToWait is obeyed if it cancels it, and else refused: the run cannot be paused until it
// begins.
func TestAnOrderToARunThatTurnsOutToWait(t *testing.T) {
	for name, says := range map[string]string{workflows.CancelUpdate: "", workflows.PauseUpdate: "run r1 waits for places, and can only be cancelled until it begins"} {
		t.Run(name, func(t *testing.T) {
			w := &waitingWorld{}
			env := newEnvironment(t)
			env.RegisterActivity(w)
			answers := orderWhileOpening(t, env, name)
			require.NoError(t, env.GetWorkflowError())
			if says == "" {
				require.NoError(t, answers[0].err)
				require.ErrorContains(t, answers[1].err, "run r1 is cancelled")
				require.Equal(t, "cancelled by ann: to look", w.stopped.Reason)
				return
			}
			for _, a := range answers {
				require.ErrorContains(t, a.err, says)
			}
			require.Equal(t, "finish after a, b", w.done[len(w.done)-1])
		})
	}
}

// waitingWorld is a world in which a run waits for places the first time that it asks for them.
type waitingWorld struct{ world }

func (w *waitingWorld) OpenRun(ctx context.Context, in activities.OpenInput) (activities.Opened, error) {
	if !in.Again {
		return activities.Opened{Held: &activities.Held{State: landscape.StartWaiting, Reason: "pool:db has no places"}}, nil
	}
	plan, err := w.world.OpenRun(ctx, in)
	return activities.Opened{Plan: plan}, err
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
		"a second input":       {workflows.PauseUpdate, `{"actor":"ann","why":"to look"}` + "\n" + `{"why":"more"}`, "there is a second input: write one object with all keys"},
		"interrupted for ever": {workflows.CancelUpdate, `{"actor":"ann","why":"enough","as":"interrupted","final":true}`, "it is not final"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &forgetfulWorld{world: world{chunks: []activities.PassResult{parts(1, 0), parts(1, 0), parts(1, 0)}}}
			env := newEnvironment(t)
			env.RegisterActivity(w)
			var inputs []any
			for text := range strings.SplitSeq(c.text, "\n") {
				inputs = append(inputs, json.RawMessage(text))
			}
			var told error
			env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if info.ActivityType.Name != "Read" || told != nil {
					return
				}
				env.UpdateWorkflow(c.verb, "", &testsuite.TestUpdateCallback{
					OnAccept: func() { t.Error("accepted") }, OnReject: func(err error) { told = err }, OnComplete: func(any, error) {},
				}, inputs...)
			})
			env.ExecuteWorkflow(workflows.RunPipeline, input())
			require.NoError(t, env.GetWorkflowError())
			var application *temporal.ApplicationError
			require.ErrorAs(t, told, &application)
			require.Contains(t, application.Message(), c.says)
			require.Equal(t, activities.TypeCommand, application.Type())
			require.Zero(t, w.asked.Load())
		})
	}
}
