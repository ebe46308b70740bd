package seal

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHasherIsSHA256 hashes messages of every length around the edges of blocks, with one hasher, both ways.
func TestHasherIsSHA256(t *testing.T) {
	require.True(t, statesAreReadable, "the fast way is the one that is used")
	text := make([]byte, 300)
	for i := range text {
		text[i] = byte(i)
	}
	var h hasher
	for n := range text {
		for _, sum := range []func() Hash{h.sumPadded, h.sum} {
			h.message = append(h.message[:0], text[:n]...)
			require.Equal(t, Hash(sha256.Sum256(text[:n])), sum(), n)
		}
	}
}
