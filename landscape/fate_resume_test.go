package landscape_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/tests/blank"
)

// stops are the steps of a run that is blocked, resolved, resumed and cancelled: each may be repeated at once.
func stops(t *testing.T, log *landscape.Log) []func() error {
	ctx := t.Context()
	s := landscapetest.Scene{Run: "stops", Chunks: 2, ChunkRows: 4, Way: func(int64) int { return 0 }}
	key := func(chunk int64) landscape.EffectKey {
		return landscape.EffectKey{Run: s.Run, Sink: "review", Source: landscapetest.Source, Chunk: chunk}
	}
	at := func(chunk int64) landscape.Placement { return landscape.Placement{Ordinal: chunk, Offset: 80 * chunk} }
	blocked := func(chunk int64) error {
		e, err := log.BeginEffect(ctx, key(chunk), at(chunk), "w")
		if errors.Is(err, landscape.ErrBlocked) {
			return nil
		}
		if err != nil {
			return err
		}
		return log.ReconcileEffect(ctx, e.Attempt("w"), plugin.Unknown)
	}
	return []func() error{
		func() error { return s.Begin(ctx, log) },
		func() error { return s.Read(ctx, log) },
		func() error { return log.RecordPassage(ctx, s.Passage(0)) },
		func() error { return log.RecordPassage(ctx, s.Passage(1)) },
		func() error { return blocked(0) },
		func() error { return blocked(1) },
		func() error { return log.StopRun(ctx, s.Run, pipeline.Blocked, "it cannot tell") },
		func() error { return log.Resolve(ctx, key(0), true, "ann", "I looked") },
		func() error { return log.Resolve(ctx, key(1), false, "ann", "I looked") },
		func() error { return log.Resume(ctx, landscape.Resumption{Run: s.Run, Epoch: 1, Claim: "c"}) },
		func() error { return log.InEpoch(s.Run, 1).StopRun(ctx, s.Run, pipeline.Failed, "broken") },
		func() error { return log.CancelRun(ctx, s.Run, false, "ann", "") },
		func() error { return log.Resume(ctx, landscape.Resumption{Run: s.Run, Epoch: 2, Claim: "c"}) },
		func() error { return log.CancelRun(ctx, s.Run, true, "ann", "") },
	}
}

// TestFatesOfStops breaks every commit once, as a lost request and as a lost reply, and repeats the step that it belongs to: the
// record is the same as if nothing had been lost.
func TestFatesOfStops(t *testing.T) {
	commits := 0
	driver := blank.New(t)
	driver.OnCommit = func(landscape.Tx) (bool, error) { commits++; return true, nil }
	for _, step := range stops(t, landscape.New(driver, nil)) {
		require.NoError(t, step())
	}
	want := outcome(t, landscape.New(driver, nil))
	require.Equal(t, 2+2+2, want.actions+want.resumptions)
	for _, keep := range []bool{false, true} {
		for broken := range commits {
			t.Run(fmt.Sprintf("commit %d, kept %v", broken, keep), func(t *testing.T) {
				lost, at, failures := errors.New("connection reset"), -1, 0
				driver.Reset(t)
				driver.OnCommit = func(landscape.Tx) (bool, error) {
					if at++; at == broken {
						return keep, lost
					}
					return true, nil
				}
				log := landscape.New(driver, nil)
				for _, step := range stops(t, log) {
					err := step()
					if errors.Is(err, lost) {
						failures++
						err = step()
					}
					require.NoError(t, err)
				}
				require.Equal(t, 1, failures)
				require.Equal(t, want, outcome(t, log))
			})
		}
	}
}

// stopsOutcome is what became of a run of stops.
type stopsOutcome struct {
	status               pipeline.RunStatus
	epoch                int64
	final                bool
	actions, resumptions int
	resolved             []string
	states               []landscape.EffectState
}

func outcome(t *testing.T, log *landscape.Log) stopsOutcome {
	t.Helper()
	run, err := log.Run(t.Context(), "stops")
	require.NoError(t, err)
	actions, err := log.Actions(t.Context(), run.ID)
	require.NoError(t, err)
	resumptions, err := log.Resumptions(t.Context(), run.ID)
	require.NoError(t, err)
	o := stopsOutcome{status: run.Status, epoch: run.Epoch, final: run.Final, actions: len(actions), resumptions: len(resumptions)}
	events, err := log.EffectEvents(t.Context(), run.ID)
	require.NoError(t, err)
	for _, e := range events {
		if e.Event == landscape.EffectResolved {
			o.resolved = append(o.resolved, e.Detail)
		}
	}
	effects, err := log.Effects(t.Context(), run.ID)
	require.NoError(t, err)
	for _, e := range effects {
		o.states = append(o.states, e.State)
	}
	return o
}
