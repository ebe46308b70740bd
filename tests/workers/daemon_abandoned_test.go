package workers_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/worker/daemon"
	"waymark/workflows"
)

// TestATerminatedRunIsInterruptedUnasked: a worker finds out by itself that a run's workflow was terminated, and says so on record.
func TestATerminatedRunIsInterruptedUnasked(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := newSite(t)
	g := &gate{kind: landscape.Chunk{}, waits: make(chan struct{}, 1), open: make(chan struct{})}
	p := begin(t, s.config(s.address(t)), gated(g), nil)
	p.said(t, "working")
	run := s.run(t, s.client, "r1", map[string]any{})
	<-g.waits
	require.NoError(t, s.client.TerminateWorkflow(t.Context(), workflows.WorkflowID("r1"), "", "a mistake"))
	require.Error(t, run.Get(t.Context(), nil))
	close(g.open)

	require.Equal(t, "r1", p.said(t, "run interrupted, or its start refused: its workflow was closed")["run"])
	driver, err := openSQLite(t.Context(), filepath.Join(s.folder, "landscape.db"), false)
	require.NoError(t, err)
	defer driver.Close()
	interrupted, err := landscape.New(driver, time.Now).Run(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, pipeline.Interrupted, interrupted.Status)
	p.end(t)

	next := begin(t, s.config(s.address(t)), daemon.Program{}, nil)
	next.said(t, "working")
	next.end(t)
	require.NotContains(t, next.text(), "run interrupted", "it is recorded once")
}
