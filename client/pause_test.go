package client

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/tests/blank"
	"waymark/workflows"
)

// reviving is a host whose next server continues the runs.
type reviving struct{ nobody }

func (reviving) Continues(context.Context, string) bool { return true }

// TestPauseOnRecord: a pause lasts until somebody continues or resumes the run.
func TestPauseOnRecord(t *testing.T) {
	moment := time.Unix(0, 0)
	log := landscape.New(blank.New(t), func() time.Time { moment = moment.Add(time.Second); return moment })
	c := New(log, "memory", nobody{})
	require.NoError(t, landscapetest.Scene{Run: "r"}.Begin(t.Context(), log))
	requirePaused := func(want string) {
		t.Helper()
		got, err := c.Paused(t.Context(), "r")
		require.NoError(t, err)
		if want == "" {
			require.Nil(t, got)
			return
		}
		require.Equal(t, want, got.Actor+": "+got.Why)
		require.True(t, got.Since.Known())
	}
	requirePaused("")
	require.NoError(t, log.RecordAction(t.Context(), "r", workflows.PauseUpdate, "ann", "lunch"))
	requirePaused("ann: lunch")
	require.NoError(t, log.RecordAction(t.Context(), "r", "export", "bob", "asked to"))
	requirePaused("ann: lunch")
	require.NoError(t, log.RecordAction(t.Context(), "r", workflows.ContinueUpdate, "bob", "lunch is over"))
	requirePaused("")
	require.NoError(t, log.RecordAction(t.Context(), "r", workflows.PauseUpdate, "bob", "tea"))
	requirePaused("bob: tea")
	for host, is := range map[Host]bool{nobody{}: false, reviving{}: true} {
		status, err := New(log, "memory", host).Status(t.Context(), "r")
		require.NoError(t, err)
		require.True(t, status.Dead())
		require.Equal(t, is, status.Paused != nil, "the next process that serves continues the run, and so its pause")
	}
	require.NoError(t, log.StopRun(t.Context(), "r", pipeline.Interrupted, "power"))
	require.NoError(t, log.Resume(t.Context(), landscape.Resumption{Run: "r", Epoch: 1, Claim: "c"}))
	requirePaused("")
}
