package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/landscape"
	"waymark/plugin"
)

// TestAnAcceptedStartBeginsNothingElse starts, under the id of a start that is open, what that did not ask for. The
// start stays as it is, and its own workflow begins the run.
func TestAnAcceptedStartBeginsNothingElse(t *testing.T) {
	r := newRig(t, simple("quarantine"), map[string]string{"in.csv": simpleRows})
	asked := landscape.Start{Run: runID, Pipeline: "pipeline.yaml", Params: "{}", Actor: "alice", Workflow: activities.WorkflowID(runID)}
	require.NoError(t, r.log.Accept(t.Context(), asked))
	for name, other := range map[string]func(*activities.OpenInput){
		"file":       func(in *activities.OpenInput) { in.File = "other.yaml" },
		"pipeline":   func(in *activities.OpenInput) { in.Document, in.File, in.Pipeline = "", "", "orders" },
		"parameters": func(in *activities.OpenInput) { in.Params = map[string]string{"day": "2020-01-01"} },
		"rows":       func(in *activities.OpenInput) { in.Rows = []plugin.RequestRows{{Source: "in"}} },
	} {
		in := r.open()
		other(&in)
		_, err := try[resumepoint.Plan](r, act.OpenRun, in)
		require.Contains(t, requireFinal(t, err, activities.TypeExists), "asks for something else", name)
		call[none](r, act.RefuseStart, activities.RefuseInput{Begin: in, Refusal: activities.TypeExists, Reason: "taken"})
		start, err := r.log.LastStart(t.Context(), runID)
		require.NoError(t, err)
		require.Equal(t, landscape.StartAccepted, start.State, name)
	}
	call[resumepoint.Plan](r, act.OpenRun, r.open())
	start, err := r.log.LastStart(t.Context(), runID)
	require.NoError(t, err)
	require.Equal(t, []any{landscape.StartBegun, "alice"}, []any{start.State, start.Actor})
}
