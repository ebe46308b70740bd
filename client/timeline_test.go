package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// TestTimelineBins shows that work is spread over the bins that it touches, and that nothing of it is lost.
func TestTimelineBins(t *testing.T) {
	begun := landscape.Micros(1_800_000_000_000_000)
	line := &Timeline{Begun: Time(begun), Bin: 1, Rate: make([]float64, timelineBins)}
	at := func(seconds float64) landscape.Micros { return begun + landscape.Micros(seconds*1e6) }
	line.addSteps(landscape.Moment{Rows: 100, Started: at(0.5), Finished: at(2.5), Worker: "a"})
	line.addSteps(landscape.Moment{Rows: 10, Started: at(2), Finished: at(2), Worker: "b"})
	line.addSteps(landscape.Moment{Rows: 7, Worker: ""})
	line.addSteps(landscape.Moment{Rows: 1, Started: at(59), Finished: at(61), Worker: "a"}) // clocks of others may be ahead
	require.Equal(t, []float64{25, 50, 35, 0}, line.Rate[:4])
	require.InDelta(t, 0.5, line.Rate[59], 1e-9)
	line.addWrites([]landscape.EffectEvent{
		{EffectKey: landscape.EffectKey{Sink: "out", Chunk: 1}, Fence: 1, Event: landscape.EffectBegan, Worker: "a", At: at(3)},
		{EffectKey: landscape.EffectKey{Sink: "out", Chunk: 1}, Fence: 2, Event: landscape.EffectBegan, Worker: "b", At: at(5)},
		{EffectKey: landscape.EffectKey{Sink: "out", Chunk: 1}, Fence: 2, Event: landscape.EffectFinalized, Worker: "b", At: at(5.25)},
	})
	require.Len(t, line.Workers, 2)
	a, b := line.worker("a"), line.worker("b")
	require.Equal(t, []any{int64(2), int64(101), int64(1)}, []any{a.Chunks, a.Rows, a.Lost}, "nobody knows how its attempt to write ended")
	require.Equal(t, []float64{0.5, 1, 0.5, 0}, a.Steps[:4])
	require.InDelta(t, 0.25, b.Writes[5], 1e-9)
}
