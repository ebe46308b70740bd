package landscape_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/memdriver"
	"waymark/pipeline"
)

// TestFates breaks every commit of a run once, as a lost request and as a lost reply, and plays the run again from the
// start: it must end complete, with every row written once.
func TestFates(t *testing.T) {
	scene := landscapetest.Scene{Run: "fate", Chunks: 2, ChunkRows: 20}
	commits := 0
	counting := memdriver.New()
	counting.OnCommit = func(landscape.Batch) (bool, error) { commits++; return true, nil }
	require.NoError(t, scene.Play(t.Context(), landscape.New(counting, nil)))
	require.Greater(t, commits, 20)

	for _, keep := range []bool{false, true} {
		for broken := range commits {
			t.Run(fmt.Sprintf("commit %d, kept %v", broken, keep), func(t *testing.T) {
				lost, at := errors.New("connection reset"), -1
				driver := memdriver.New()
				driver.OnCommit = func(landscape.Batch) (bool, error) {
					if at++; at == broken {
						return keep, lost
					}
					return true, nil
				}
				log := landscape.New(driver, nil)
				require.ErrorIs(t, scene.Play(t.Context(), log), lost)
				require.NoError(t, scene.Play(t.Context(), log))
				requireComplete(t, log, scene)
			})
		}
	}
}

func requireComplete(t *testing.T, log *landscape.Log, scene landscapetest.Scene) {
	t.Helper()
	findings, err := log.Sweep(t.Context(), scene.Run, true)
	require.NoError(t, err)
	require.Nil(t, findings)
	run, err := log.Run(t.Context(), scene.Run)
	require.NoError(t, err)
	require.Equal(t, pipeline.CompletedWithFailures, run.Status)
	events, err := log.EffectEvents(t.Context(), scene.Run)
	require.NoError(t, err)
	finalized := map[landscape.EffectKey]int{}
	for _, e := range events {
		if e.Event == landscape.EffectFinalized {
			finalized[e.EffectKey]++
		}
	}
	effects, err := log.Effects(t.Context(), scene.Run)
	require.NoError(t, err)
	for _, e := range effects {
		require.Equal(t, 1, finalized[e.EffectKey], e.String())
	}
}
