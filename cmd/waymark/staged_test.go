package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 9_999: "9,999 bytes", 13_400: "13 kB", 13_400_000: "13 MB"} {
		require.Equal(t, want, size(bytes))
	}
}
