package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

func BenchmarkLoad(b *testing.B) {
	data := readFull(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_, err := pipeline.Load("full.yaml", data, world())
		require.NoError(b, err)
	}
}
