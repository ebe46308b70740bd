package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities/resumepoint"
	"waymark/landscape"
	"waymark/pipeline"
)

// stricter is a planner of a process whose settings some document shortens.
type stricter struct{ planner }

func (stricter) Admits(document *pipeline.Document) error {
	return pipeline.Problems{document.Problem("retention.source", "is shorter than that of the settings")}
}

// TestADocumentThatShortensBeginsNoRun: the worker that opens the run decides, by its own settings.
func TestADocumentThatShortensBeginsNoRun(t *testing.T) {
	r := newRig(t, "name: p\nsources: {a: {csv: {path: a.csv}, schema: {fields: {id: int}}}}\n"+
		"sinks: {b: {from: a, csv: {path: out/b.csv}}}\nretention: {source: 1d}\n",
		map[string]string{"a.csv": "id\n1\n"})
	r.planner = stricter{planner{key: "a key for tests"}}
	r.restart()
	_, err := try[resumepoint.Plan](r, act.OpenRun, r.open())
	require.ErrorContains(t, err, "4:21: retention.source: is shorter than that of the settings")
	_, err = r.log.Run(t.Context(), runID)
	require.ErrorIs(t, err, landscape.ErrNotFound)

	r.planner = planner{key: "a key for tests"}
	r.restart()
	call[resumepoint.Plan](r, act.OpenRun, r.open())
	run, err := r.log.Run(t.Context(), runID)
	require.NoError(t, err)
	require.Contains(t, run.Plan, `"retention":{"source":"24h0m0s"}`, "who deletes what is due reads it there")
}
