package spent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
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
	got := (&record{moments: moments, effects: events}).time(run)
	require.InDelta(t, 10, got.Seconds, 1e-9)
	require.InDelta(t, 0.4, got.Steps, 1e-9)
	require.InDelta(t, 0.2, got.Writing, 1e-9)
	require.InDelta(t, 0.2, got.Reading, 1e-9)
	require.InDelta(t, 0.2, got.Other, 1e-9)
	require.InDelta(t, 1.25, got.Workers, 1e-9, "two for one second of four")
	require.Nil(t, (&record{moments: moments[3:], effects: events}).time(run))
}

// TestNoProcess: time in which no process worked for the run is neither reading nor writing. It is from the last sign
// of one until the run was resumed.
func TestNoProcess(t *testing.T) {
	const s = 1_000_000
	run := landscape.RunHead{ID: "r", Started: 100 * s, Finished: 200 * s}
	key := landscape.EffectKey{Run: "r", Sink: "out", Source: "in"}
	wrote := func(event landscape.EffectWord, at landscape.Micros) landscape.EffectEvent {
		return landscape.EffectEvent{EffectKey: key, Fence: 1, Event: event, At: at}
	}
	resumed := func(was pipeline.RunStatus, at ...landscape.Micros) (all []landscape.Resumption) {
		for i, at := range at {
			all = append(all, landscape.Resumption{Run: "r", Epoch: int64(i + 1), Was: was, At: at})
		}
		return all
	}
	did := func(verb string, at landscape.Micros) landscape.Action {
		return landscape.Action{Run: "r", Verb: verb, At: at}
	}
	type ends = map[int64]landscape.Micros
	for name, test := range map[string]struct {
		record
		noProcess, paused, reading, writing float64
	}{
		"killed": {
			record:    record{resumed: resumed(pipeline.Interrupted, 190*s)},
			noProcess: 0.88, reading: 0.06,
		},
		"killed while it wrote, and the target knew": {
			record: record{
				resumed: resumed(pipeline.Running, 190*s),
				effects: []landscape.EffectEvent{
					wrote(landscape.EffectBegan, 103*s), wrote(landscape.EffectFinalized, 191*s),
				},
			},
			noProcess: 0.87, reading: 0.06, writing: 0.01,
		},
		"killed, and logged for a while that it waits": {
			record: record{
				resumed: resumed(pipeline.Interrupted, 190*s),
				events:  []landscape.RunEvent{{Run: "r", Event: landscape.LoggedWarning, At: 150 * s}},
			},
			noProcess: 0.4, reading: 0.54,
		},
		"killed twice": {
			record:    record{resumed: resumed(pipeline.Interrupted, 150*s, 190*s)},
			noProcess: 0.88, reading: 0.06,
		},
		"failed": {
			record:    record{resumed: resumed(pipeline.Failed, 190*s), ended: ends{0: 140 * s, 1: 200 * s}},
			noProcess: 0.5, reading: 0.44,
		},
		"found dead later": {
			record:    record{resumed: resumed(pipeline.Interrupted, 190*s), ended: ends{0: 189 * s}},
			noProcess: 0.88, reading: 0.06,
		},
		"blocked until a person decided": {
			record: record{
				resumed: resumed(pipeline.Blocked, 190*s), ended: ends{0: 104 * s},
				effects: []landscape.EffectEvent{wrote(landscape.EffectResolved, 185*s)},
			},
			noProcess: 0.86, reading: 0.08,
		},
		"paused": {
			record: record{
				actions: []landscape.Action{did(landscape.VerbPause, 110*s), did(landscape.VerbContinue, 180*s)},
			},
			paused: 0.7, reading: 0.24,
		},
		"paused and killed": {
			record: record{
				actions: []landscape.Action{did(landscape.VerbPause, 110*s)},
				resumed: resumed(pipeline.Interrupted, 180*s),
			},
			noProcess: 0.7, reading: 0.24,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.moments = []landscape.Moment{
				{Read: 101 * s, Started: 101 * s, Finished: 102 * s},
				{Read: 195 * s, Started: 195 * s, Finished: 196 * s},
			}
			got := test.time(run)
			want := []float64{test.noProcess, test.paused, test.reading, test.writing, 0.02}
			is := []float64{got.NoProcess, got.Paused, got.Reading, got.Writing, got.Steps}
			require.InDeltaSlice(t, want, is, 1e-9)
			require.InDelta(t, 1, got.NoProcess+got.Paused+got.Reading+got.Writing+got.Steps+got.Other, 1e-9)
		})
	}
}

// TestRowsThatABarrierMadeAreNotRead: reading ends with the last chunk of a source.
func TestRowsThatABarrierMadeAreNotRead(t *testing.T) {
	const s = 1_000_000
	run := landscape.RunHead{ID: "r", Started: 100 * s, Finished: 200 * s}
	got := (&record{moments: []landscape.Moment{
		{Read: 110 * s, Started: 110 * s, Finished: 120 * s},
		{Made: true, Read: 180 * s, Started: 180 * s, Finished: 190 * s},
	}}).time(run)
	require.InDelta(t, 0.1, got.Reading, 1e-9)
	require.InDelta(t, 0.7, got.Other, 1e-9)
}
