package workers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"waymark/internal/temporal/embedded"
	"waymark/landscape"
	"waymark/tests/sample"
	"waymark/worker/daemon"
	"waymark/workflows"
)

// makeCurrent makes a version the one that new runs go to, as soon as Temporal knows it.
func makeCurrent(t *testing.T, s *site, build string) {
	t.Helper()
	handle := s.client.WorkerDeploymentClient().GetHandle("waymark")
	require.EventuallyWithT(t, func(c *assert.CollectT) { // its workers have asked for work
		_, err := handle.SetCurrentVersion(t.Context(), client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build, IgnoreMissingTaskQueues: true})
		require.NoError(c, err)
	}, patience, 10*time.Millisecond)
}

// TestARunStaysOnTheVersionOnWhichItBegan lets a new release come while a run is going.
func TestARunStaysOnTheVersionOnWhichItBegan(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := newSiteWith(t, embedded.Options{Schedules: true}) // versions are kept by Temporal's own workflows, as schedules are
	elsewhere := strings.NewReplacer("name: orders", "name: elsewhere", "out/all", "out/elsewhere").Replace(siteOrders)
	s.write(t, "pipelines/elsewhere.yaml", elsewhere)
	g := &gate{kind: landscape.Chunk{}, waits: make(chan struct{}, 1), open: make(chan struct{})}
	of := func(build string) daemon.Config {
		c := s.config(s.address(t))
		c.Deployment, c.BuildID = "waymark", build
		return c
	}
	old := begin(t, of("1.0"), gated(g), nil)
	old.said(t, "working")
	makeCurrent(t, s, "1.0")
	first := s.run(t, s.client, "first", map[string]any{})
	<-g.waits

	next := begin(t, of("2.0"), daemon.Program{}, nil)
	next.said(t, "working")
	makeCurrent(t, s, "2.0")
	second := s.run(t, s.client, "second", map[string]any{"pipeline": "elsewhere"}) // or it would wait for the target of the first
	require.NoError(t, second.Get(t.Context(), nil), "the new version does it, while the old one waits")
	close(g.open)
	var result workflows.RunResult
	require.NoError(t, first.Get(t.Context(), &result))
	require.EqualValues(t, 3, result.Rows)
	for run, want := range map[string]string{"first": "1.0", "second": "2.0"} {
		description, err := s.client.DescribeWorkflowExecution(t.Context(), workflows.WorkflowID(run), "")
		require.NoError(t, err)
		require.Equal(t, want, description.GetWorkflowExecutionInfo().GetVersioningInfo().GetDeploymentVersion().GetBuildId(), run)
	}
	old.end(t)
	next.end(t)
}
