package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPicture requires that the committed picture is that of a run of today's program: only names, counts, values and hashes are in
// it, which every run of the example has in common.
func TestPicture(t *testing.T) {
	want, err := picture("../..")
	require.NoError(t, err)
	got, err := os.ReadFile("../../docs/img/run.svg")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run `make picture`")
}
