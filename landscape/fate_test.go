package landscape_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/tests/blank"
)

// scene is a made-up run that may be played again after a failure.
type scene interface {
	Play(ctx context.Context, log *landscape.Log) error
}

// TestFates breaks every commit of a run once, as a lost request and as a lost reply, and plays the run again from the
// start: it must end complete, with every row written once.
func TestFates(t *testing.T) {
	for run, s := range map[string]scene{
		"fate":  landscapetest.Scene{Run: "fate", Chunks: 2, ChunkRows: 20},
		"graph": landscapetest.GraphScene{Run: "graph", Chunks: 3, ChunkRows: 6},
	} {
		t.Run(run, func(t *testing.T) { fates(t, run, s) })
	}
}

func fates(t *testing.T, run string, s scene) {
	commits := 0
	driver := blank.New(t)
	driver.OnCommit = func(landscape.Tx) (bool, error) { commits++; return true, nil }
	require.NoError(t, s.Play(t.Context(), landscape.New(driver, nil)))
	require.Greater(t, commits, 20)

	for _, keep := range []bool{false, true} {
		for broken := range commits {
			t.Run(fmt.Sprintf("commit %d, kept %v", broken, keep), func(t *testing.T) {
				lost, at := errors.New("connection reset"), -1
				driver.Reset(t)
				driver.OnCommit = func(landscape.Tx) (bool, error) {
					if at++; at == broken {
						return keep, lost
					}
					return true, nil
				}
				log := landscape.New(driver, nil)
				require.ErrorIs(t, s.Play(t.Context(), log), lost)
				require.NoError(t, s.Play(t.Context(), log))
				requireComplete(t, log, run)
			})
		}
	}
}

func requireComplete(t *testing.T, log *landscape.Log, id string) {
	t.Helper()
	findings, err := log.Sweep(t.Context(), id, true)
	require.NoError(t, err)
	require.Nil(t, findings)
	run, err := log.Run(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, pipeline.CompletedWithFailures, run.Status)
	events, err := log.EffectEvents(t.Context(), id)
	require.NoError(t, err)
	finalized := map[landscape.EffectKey]int{}
	for _, e := range events {
		if e.Event == landscape.EffectFinalized {
			finalized[e.EffectKey]++
		}
	}
	effects, err := log.Effects(t.Context(), id)
	require.NoError(t, err)
	for _, e := range effects {
		require.Equal(t, 1, finalized[e.EffectKey], e.String())
	}
}
