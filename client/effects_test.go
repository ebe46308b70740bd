package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// TestEffectIDs: an id names one effect, whatever its source is called.
func TestEffectIDs(t *testing.T) {
	for id, key := range map[string]landscape.EffectKey{
		"out":       landscape.PublishKey("r", "out"),
		"out/in:0":  {Run: "r", Sink: "out", Source: "in", Chunk: 0},
		"out/a:b:7": {Run: "r", Sink: "out", Source: "a:b", Chunk: 7},
	} {
		got, err := parseEffect("r", id)
		require.NoError(t, err)
		require.Equal(t, key, got)
		require.Equal(t, id, effectID(key))
	}
	for _, id := range []string{"out/", "out/in", "out/in:", "out/in:x", "out/in:-1", "out/:1", "/in:1"} {
		_, err := parseEffect("r", id)
		require.ErrorContains(t, err, "is no effect: write SINK/SOURCE:CHUNK", id)
		requireKind(t, Invalid, err)
	}
}

func TestResolveRefuses(t *testing.T) {
	log := fiveRuns(t)
	c := New(log, "memory", nobody{})
	run, err := c.Find(t.Context(), "r4")
	require.NoError(t, err)
	for id, kind := range map[string]Kind{"out/": Invalid, "nosuch": NotFound, "review": Conflict} {
		_, err := c.Resolve(t.Context(), run, id, false, By{Actor: "ann", Why: "I looked"})
		requireKind(t, kind, err)
	}
}

// TestPauseRefuses holds what is said of a run that nobody executes, and of one that refuses to be paused.
func TestPauseRefuses(t *testing.T) {
	log := fiveRuns(t)
	run, err := log.Run(t.Context(), "r0")
	require.NoError(t, err)
	_, err = New(log, "memory", nobody{}).Pause(t.Context(), run, By{Actor: "ann", Why: "lunch"})
	requireKind(t, Conflict, err)
	_, err = New(log, "memory", busy{}).Pause(t.Context(), run, By{Actor: "ann", Why: "lunch"})
	requireKind(t, Busy, err)
	require.EqualError(t, err, "run r0 cannot pause: it is about to end")
}
