//go:build !race

package seal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape/seal"
)

// Under the race detector each hash allocates.
func TestNoAllocationPerRow(t *testing.T) {
	r, key := big(5000), seal.Key{1}
	require.Less(t, testing.AllocsPerRun(3, func() { chunkRootOf(r, key) }), 50.0)
}
