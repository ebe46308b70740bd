package landscape_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/plugin"
	"waymark/tests/blank"
)

// TestPastOfAnEffect follows one write through an attempt that failed, a target that could not tell, a person's word, and the attempt that was confirmed: at each moment it is as
// far as it was then. Another one of the same clock stays as it was prepared.
func TestPastOfAnEffect(t *testing.T) {
	clock := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	tick := func() landscape.Micros {
		clock = clock.Add(time.Second)
		return landscape.MicrosOf(clock)
	}
	log := landscape.New(blank.New(t), func() time.Time { return clock })
	scene := landscapetest.Scene{Run: "run", Chunks: 1, ChunkRows: 20}
	require.NoError(t, scene.Begin(t.Context(), log))
	require.NoError(t, scene.Read(t.Context(), log))
	require.NoError(t, log.RecordPassage(t.Context(), scene.Passage(0)))
	effects, err := log.Effects(t.Context(), "run")
	require.NoError(t, err)
	var key landscape.EffectKey
	for _, e := range effects {
		if e.Kind == landscape.WriteEffect {
			key = e.EffectKey
		}
	}
	began := map[landscape.Micros]landscape.EffectState{landscape.MicrosOf(clock): landscape.Prepared}
	do := func(state landscape.EffectState, act func() error) {
		at := tick()
		require.NoError(t, act())
		began[at] = state
		stored, err := log.Effect(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, state, stored.State)
	}
	attempt := landscape.Attempt{EffectKey: key, Worker: "w"}
	begin := func() error {
		begun, err := log.BeginEffect(t.Context(), key, landscape.Placement{}, "w")
		attempt.Fence = begun.Fence
		return err
	}
	do(landscape.InFlight, begin)
	do(landscape.InFlight, func() error { return log.FailEffect(t.Context(), attempt, "away") })
	do(landscape.InFlight, begin)
	do(landscape.Blocked, func() error { return log.ReconcileEffect(t.Context(), attempt, plugin.Unknown) })
	do(landscape.InFlight, func() error { return log.Resolve(t.Context(), key, false, "ann", "looked") })
	do(landscape.InFlight, begin)
	do(landscape.Finalized, func() error { return log.FinalizeEffect(t.Context(), attempt, "{}") })

	past, err := log.Past(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, landscape.MicrosOf(clock), past.End())
	for at, state := range began {
		then := past.At(at)
		was, err := then.Effect(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, state, was.State, at)
		counts, err := then.SinkChunks(t.Context(), "run")
		require.NoError(t, err)
		for _, c := range counts {
			done, unknown := int64(0), int64(0)
			if c.Sink == key.Sink {
				done = map[bool]int64{true: 1}[state == landscape.Finalized]
				unknown = map[bool]int64{true: 1}[state == landscape.InFlight || state == landscape.Blocked]
			}
			require.Equal(t, done, c.Completed, c.Sink)
			require.Equal(t, unknown, c.Unknown, c.Sink)
		}
	}
}

// TestPastSaysNoMoreThanTheRecord: what has no moments is refused, nobody writes the past, and before the beginning there is nothing.
func TestPastSaysNoMoreThanTheRecord(t *testing.T) {
	log := landscape.New(blank.New(t), nil)
	require.NoError(t, landscapetest.Scene{Run: "run", Chunks: 2, ChunkRows: 20}.PlayToEnd(t.Context(), log))
	past, err := log.Past(t.Context(), "run")
	require.NoError(t, err)
	then := past.At(past.Begun() - 1)
	summary, err := then.Summary(t.Context(), "run")
	require.NoError(t, err)
	require.Zero(t, summary.Rows+summary.Tokens+summary.Failed+summary.Chunks)
	require.Equal(t, "running", string(summary.Run.Status))
	_, err = then.Actions(t.Context(), "run")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = then.BeginEffect(t.Context(), landscape.PublishKey("run", "review"), landscape.Placement{}, "w")
	require.Error(t, err)
	require.ErrorIs(t, then.SetLimit(t.Context(), landscape.Limit{Gate: "pool:a", Places: 1, Actor: "a", Why: "b"}), errors.ErrUnsupported)
	_, err = log.Past(t.Context(), "nobody")
	require.ErrorIs(t, err, landscape.ErrNotFound)
}
