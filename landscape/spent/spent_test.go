package spent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// TestOf: each moment of a run counts once, also where clocks differ and attempts fail.
func TestOf(t *testing.T) {
	const s = 1_000_000
	run := landscape.RunHead{ID: "r", Started: 100 * s, Finished: 110 * s}
	passed := func(read, from, to landscape.Micros, worker string) landscape.Moment {
		return landscape.Moment{Read: read, Started: from, Finished: to, Worker: worker}
	}
	moments := []landscape.Moment{
		passed(101*s, 101*s, 104*s, "a"), // one second of reading before it
		passed(102*s, 103*s, 105*s, "b"),
		passed(106*s, 103*s, 105*s, "b"), // beside the one before: one worker. Writing hides the reading behind them
		{Read: 107 * s},                  // one second of reading, and it never passed
	}
	key := landscape.EffectKey{Run: "r", Sink: "out", Source: "in"}
	events := []landscape.EffectEvent{
		{EffectKey: key, Fence: 1, Event: landscape.EffectBegan, At: 104 * s},
		{EffectKey: key, Fence: 1, Event: landscape.EffectFailed, At: 106 * s},
		{EffectKey: key, Fence: 2, Event: landscape.EffectBegan, At: 109 * s},
		{EffectKey: key, Fence: 2, Event: landscape.EffectFinalized, At: 120 * s}, // by a clock that is late
		{EffectKey: key, Fence: 3, Event: landscape.EffectBegan, At: 109 * s},     // nobody saw its end
	}
	got := of(run, moments, events)
	require.InDelta(t, 10, got.Seconds, 1e-9)
	require.InDelta(t, 0.4, got.Steps, 1e-9)
	require.InDelta(t, 0.2, got.Writing, 1e-9)
	require.InDelta(t, 0.2, got.Reading, 1e-9)
	require.InDelta(t, 0.2, got.Other, 1e-9)
	require.InDelta(t, 1.25, got.Workers, 1e-9, "two for one second of four")
	require.Nil(t, of(run, moments[3:], events))
}
