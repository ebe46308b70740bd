package file

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/plugin/plugintest"
)

// TestStaged: what a target stages is found by the output's location, until it is published.
func TestStaged(t *testing.T) {
	eachFormat(t, func(t *testing.T, newPlace func(t testing.TB) sinkDestination) {
		p := newPlace(t)
		sink := p.sink(false)
		_, _, there := Staged(sink.Location(), "one")
		require.False(t, there)
		output := plugintest.NewOutput(p.header(), "a,1\n", "b,2\n")
		target := sink.Target("one")
		output.Write(t, target)
		name, bytes, there := Staged(sink.Location(), "one")
		require.True(t, there)
		require.Equal(t, p.staging("one"), name)
		require.GreaterOrEqual(t, bytes, int64(len(p.header())+8))
		_, _, there = Staged(sink.Location(), "two")
		require.False(t, there)
		_, err := target.Publish(t.Context(), output.Header, output.Parts)
		require.NoError(t, err)
		_, _, there = Staged(sink.Location(), "one")
		require.False(t, there)
	})
}
