package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

func TestEveryPathHasWordsOfItsOwn(t *testing.T) {
	known := map[string]pipeline.Path{}
	for _, path := range pipeline.Paths() {
		words := path.Words()
		require.Empty(t, known[words], "of %s", path)
		require.NotContains(t, words, "_")
		known[words] = path
	}
	for _, path := range []pipeline.Path{
		pipeline.DefaultFlow, pipeline.GateRouted, pipeline.GateDiscarded, pipeline.FilterDropped, pipeline.OnErrorRouted,
		pipeline.QuarantinedAtSource, pipeline.Unrouted, pipeline.SinkDiscarded, pipeline.Coalesced, pipeline.ForkParent,
		pipeline.ExpandParent, pipeline.BatchConsumed, pipeline.BranchNotNeeded, pipeline.Buffered,
	} {
		require.Contains(t, pipeline.Paths(), path)
	}
	require.Equal(t, "elsewhere", pipeline.Path("elsewhere").Words())
}
