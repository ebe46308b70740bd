package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/pipeline"
	"waymark/workflows"
)

// joinedWorld is one in which the run joins another one, which runs until it is ended.
type joinedWorld struct {
	world
	looks []bool // for each look at the other run: whether its workflow is to tell when it ends
	ended bool
}

func (w *joinedWorld) OpenRun(context.Context, activities.OpenInput) (activities.Opened, error) {
	return activities.Opened{Held: &activities.Held{State: "skipped", Reason: "the result is that of run other", Joined: "other"}}, nil
}

func (w *joinedWorld) FindKeyed(_ context.Context, in activities.FindInput) (activities.Keyed, error) {
	w.looks = append(w.looks, in.Joins)
	if w.ended {
		return activities.Keyed{Status: pipeline.Completed, Rows: 7}, nil
	}
	return activities.Keyed{Status: pipeline.Running, WillTell: len(w.looks) > 1}, nil
}

// TestJoinerIsToldOfTheEnd: who joined a run has its result when the run's workflow says that it ended, long before it
// would look by itself, and makes itself known to that workflow once.
func TestJoinerIsToldOfTheEnd(t *testing.T) {
	env, w := newEnvironment(t), &joinedWorld{}
	env.RegisterActivity(w)
	begun := env.Now()
	env.RegisterDelayedCallback(func() { requireView(t, env, workflows.View{Run: "other", Workflow: "run-other", Status: "running"}) }, 10*time.Second)
	env.RegisterDelayedCallback(func() { // between the looks after 31 s and 63 s
		w.ended = true
		env.SignalWorkflow(activities.EndedSignal, nil)
	}, 40*time.Second)
	env.ExecuteWorkflow(workflows.RunPipeline, input())
	require.NoError(t, env.GetWorkflowError())
	var result workflows.RunResult
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, workflows.RunResult{Run: "other", Status: pipeline.Completed, Rows: 7}, result)
	require.Less(t, env.Now().Sub(begun), 50*time.Second)
	requireView(t, env, workflows.View{Run: "other", Workflow: "run-other", Status: "completed"})
	require.Equal(t, []bool{true, true, false, false, false, false, false}, w.looks)
}

// requireView asks the workflow how its run is.
func requireView(t *testing.T, env *testsuite.TestWorkflowEnvironment, want workflows.View) {
	t.Helper()
	answer, err := env.QueryWorkflow(workflows.ProgressQuery)
	require.NoError(t, err)
	var view workflows.View
	require.NoError(t, answer.Get(&view))
	require.Equal(t, want, view)
}

// TestRunTellsJoiners: what a run does to end gets the workflows that wait for that: those that earlier executions
// knew, and those that said so since.
func TestRunTellsJoiners(t *testing.T) {
	w := &tellingWorld{world: world{chunks: []activities.PassResult{parts(3, 0)}}}
	env := newEnvironment(t)
	env.RegisterActivity(w)
	for _, joiner := range []string{"run-b", "run-a", "run-b", ""} {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(activities.JoinedSignal, activities.Joiner{Workflow: joiner}) }, 0)
	}
	env.ExecuteWorkflow(workflows.RunPipeline, input())
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"run-b", "run-a"}, w.told)
}

type tellingWorld struct {
	world
	told []string
}

func (w *tellingWorld) FinishRun(_ context.Context, in activities.FinishInput) (activities.FinishResult, error) {
	w.told = in.Joiners
	return activities.FinishResult{Status: pipeline.Completed}, nil
}
