package graphs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/tests/graphs"
)

// BenchmarkInterpret measures one random document: making it, and interpreting it.
func BenchmarkInterpret(b *testing.B) {
	seed := uint64(0)
	for b.Loop() {
		seed++
		document, files := graphs.Random(seed)
		b.StopTimer()
		doc, err := pipeline.Load("random.yaml", []byte(document), pipeline.Environment{})
		require.NoError(b, err)
		b.StartTimer()
		_, err = graphs.Interpret(doc, graphs.Read(doc, files))
		require.NoError(b, err)
	}
}
