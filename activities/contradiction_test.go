package activities_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/resumepoint"
)

// TestContradictingHistoryWritesNothing wants to read on where the chunks on record do not end.
func TestContradictingHistoryWritesNothing(t *testing.T) {
	r := newRig(t, simple("quarantine"), map[string]string{"in.csv": simpleRows})
	call[resumepoint.Plan](r, act.OpenRun, r.open())
	read := call[activities.ReadResult](r, act.Read, readInput)
	elsewhere := read.Cursor
	elsewhere.Offset++
	for says, in := range map[string]activities.ReadInput{
		"after chunk 0 of in at byte 17, row 2, but the recorded chunk ends at byte 16, row 2": {Source: "in", Chunk: 1, Cursor: elsewhere},
		"chunk 2 of in was read, and it is not recorded":                                       {Source: "in", Chunk: 3, Cursor: read.Cursor},
	} {
		before := r.records()
		_, err := try[activities.ReadResult](r, act.Read, in)
		message := requireFinal(t, err, activities.TypeStateDiverged)
		require.True(t, strings.HasPrefix(message, "STATE_DIVERGED: "), message)
		require.Contains(t, message, says)
		require.Equal(t, before, r.records())
	}
	call[activities.ReadResult](r, act.Read, activities.ReadInput{Source: "in", Chunk: 1, Cursor: read.Cursor})
	require.Len(t, r.records()["chunks"], 2)
}
