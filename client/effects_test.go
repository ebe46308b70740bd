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
		got, err := ParseEffect("r", id)
		require.NoError(t, err)
		require.Equal(t, key, got)
		require.Equal(t, id, effectID(key))
	}
	for _, id := range []string{"out/", "out/in", "out/in:", "out/in:x", "out/in:-1", "out/:1", "/in:1"} {
		_, err := ParseEffect("r", id)
		require.ErrorContains(t, err, "is no effect: write SINK/SOURCE:CHUNK", id)
		requireKind(t, Invalid, err)
	}
}
