package landscapetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// executions holds what a log says of the workflow executions that work for a run.
func executions(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	run, graph := Scene{Run: "worked"}.Graph()
	by := func(name string) landscape.Execution {
		return landscape.Execution{Execution: name, Workflow: "run-worked", Namespace: "default", Identity: "ann"}
	}
	graph.By = []landscape.Execution{by("a")}
	require.NoError(t, log.BeginRun(ctx, run, graph))
	require.NoError(t, log.BeginRun(ctx, run, graph), "a repeat")
	graph.By = []landscape.Execution{by("b")}
	var diverged *landscape.DivergedError
	require.ErrorAs(t, log.BeginRun(ctx, run, graph), &diverged, "another one begins it")
	require.Equal(t, "executions", diverged.Table)

	next := by("b")
	next.Run, next.Seq = run.ID, 1
	require.NoError(t, log.InEpoch(run.ID, 0).ContinueAs(ctx, next))
	require.NoError(t, log.InEpoch(run.ID, 0).ContinueAs(ctx, next), "a repeat")
	twin := next
	twin.Execution = "c"
	require.ErrorAs(t, log.ContinueAs(ctx, twin), &diverged, "two continue one")
	all, err := log.Executions(ctx, run.ID, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, []string{all[0].Execution, all[1].Execution})
	require.NotZero(t, all[1].At)

	r := resumptionOf(run.ID, 1)
	require.NoError(t, log.Resume(ctx, r, by(r.Claim)))
	require.NoError(t, log.Resume(ctx, r, by(r.Claim)), "a repeat")
	twin.Seq = 2
	require.ErrorIs(t, log.InEpoch(run.ID, 0).ContinueAs(ctx, twin), landscape.ErrSuperseded)
	all, err = log.Executions(ctx, run.ID, 1)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, r.Claim, all[0].Execution)
}
