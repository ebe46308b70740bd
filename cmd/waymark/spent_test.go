package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape/spent"
)

func TestWhatARunSpentItsTimeOn(t *testing.T) {
	require.Empty(t, spentLine(nil), "it has not ended")
	require.Equal(t, "steps 73 % (3.4 workers at once), writing 9 %, reading 17 %, other 1 %",
		spentLine(&spent.Time{Steps: 0.73, Writing: 0.091, Reading: 0.169, Other: 0.01, Workers: 3.41}))
	require.Equal(t, "steps 1 % (1.0 workers at once), writing 1 %, paused 8 %, no process 90 %",
		spentLine(&spent.Time{Steps: 0.01, Writing: 0.01, Paused: 0.08, NoProcess: 0.9, Workers: 1}))
	all := &spent.Time{Steps: 0.999, Other: 0.001, Workers: 1}
	require.Equal(t, "steps 100 % (1.0 workers at once)", spentLine(all))
}
