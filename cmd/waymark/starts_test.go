package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReasonsOfSeveralLinesAreOne(t *testing.T) {
	require.Equal(t, "p.yaml has 2 problems; p.yaml:1:1: one; p.yaml:2:1: two", oneLine("p.yaml has 2 problems\np.yaml:1:1: one\np.yaml:2:1: two\n"))
}
