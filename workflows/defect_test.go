package workflows_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/pipeline"
	"waymark/workflows"
)

// TestNonsenseStopsTheRun has a worker that does not belong there answer what cannot be: the run stops with the cause,
// and can be resumed. A task that failed would be given to workers again and again.
func TestNonsenseStopsTheRun(t *testing.T) {
	for name, test := range map[string]struct {
		answer activities.PassResult
		says   string
	}{
		"a sink that the plan does not have": {
			activities.PassResult{Rows: 1, Parts: []activities.PartSize{{Sink: "nowhere", Rows: 1}}},
			`the plan has no sink named "nowhere"`,
		},
		"a barrier that the plan does not have": {
			activities.PassResult{Rows: 1, Barriers: []string{strings.Repeat("x", 1<<20)}},
			`the plan has no barrier named "xxxx`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{chunks: []activities.PassResult{test.answer, parts(1, 1)}}
			env := start(t, w, input())
			var failed *temporal.ApplicationError
			require.ErrorAs(t, env.GetWorkflowError(), &failed)
			require.Equal(t, activities.TypeStateDiverged, failed.Type())
			require.ErrorContains(t, failed, test.says)
			require.Less(t, len(failed.Message()), 1000)
			require.Equal(t, pipeline.Failed, w.stopped.Status)
			require.NotContains(t, w.done, "finish")
		})
	}
}

// TestNamesOfQueuesAreBounded has a worker say that it polls a queue whose name Temporal does not take.
func TestNamesOfQueuesAreBounded(t *testing.T) {
	answer := parts(1, 1)
	answer.Worker = strings.Repeat("q", 2000)
	w := &world{chunks: []activities.PassResult{answer}}
	env := start(t, w, input())
	require.NoError(t, env.GetWorkflowError())
	var result workflows.RunResult
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, pipeline.Completed, result.Status)
}
