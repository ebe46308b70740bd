package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// TestPaceIsThatOfThisProcess: what was done before it does not count for speed and time left.
func TestPaceIsThatOfThisProcess(t *testing.T) {
	c := pace{time.Now().Add(-10 * time.Second), landscape.Progress{Rows: 900, Passed: 900, Bytes: 5000}}
	require.Contains(t, c.text(landscape.Progress{Rows: 1000, Passed: 1000}), "1,000 rows read, 1,000 done, 9 rows/s")
	require.Zero(t, c.left(landscape.Progress{Bytes: 5000}, 10_000), "nothing is done yet")
	require.InDelta(t, 40*time.Second, c.left(landscape.Progress{Bytes: 6000}, 10_000), float64(time.Second))
	require.Zero(t, c.left(landscape.Progress{Bytes: 12_000}, 10_000))
}
