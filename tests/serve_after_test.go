package tests

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"waymark/client/local"
	"waymark/pipeline"
	"waymark/tests/fixtures"
	"waymark/tests/held"
	"waymark/tests/sample"
	"waymark/tests/serving"
	"waymark/workflows"
)

// TestServeAfterRunsOfOtherProcesses: a server answers questions about runs that processes executed by themselves before it came; and one that died
// then is interrupted, and can be resumed.
func TestServeAfterRunsOfOtherProcesses(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	d := newDisturbed(t)
	d.startAndKill(3*fixtures.ResumedChunk, "run", "pipeline.yaml", "--run-id", "one")
	d.web.Release()
	home, err := local.Open(t.Context(), local.Options{State: local.Folder(filepath.Join(d.folder, ".waymark")), Existing: true})
	require.NoError(t, err)
	defer home.Close()

	s := serving.Start(t, d.folder, "--allow-network", held.Networks)
	temporal := s.Temporal(t)
	require.Equal(t, string(pipeline.CompletedWithFailures), progress(t, temporal, "undisturbed").Status)
	require.Eventually(t, func() bool {
		run, err := home.Find(t.Context(), "one")
		return err == nil && run.Status == pipeline.Interrupted && run.Reason == "interrupted: the process that worked for it ended"
	}, patience, 50*time.Millisecond)
	require.NotNil(t, progress(t, temporal, "one").Progress)
	_, err = temporal.QueryWorkflow(t.Context(), workflows.WorkflowID("nobody"), "", workflows.ProgressQuery)
	require.ErrorContains(t, err, "not found")

	out, err := s.Try(t.Context(), "resume", "one", "--detach")
	require.NoError(t, err, out)
	require.NoError(t, temporal.GetWorkflow(t.Context(), workflows.WorkflowID("one"), "").Get(t.Context(), nil))
	require.Equal(t, d.want, d.take())
	require.Equal(t, string(pipeline.CompletedWithFailures), progress(t, temporal, "one").Status)
}

// progress asks the workflow of a run how it is.
func progress(t *testing.T, temporal sdk.Client, run string) (view workflows.View) {
	t.Helper()
	answer, err := temporal.QueryWorkflow(t.Context(), workflows.WorkflowID(run), "", workflows.ProgressQuery)
	require.NoError(t, err)
	require.NoError(t, answer.Get(&view))
	return view
}
