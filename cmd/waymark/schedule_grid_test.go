package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
)

// TestNotesNameWhatCanBeDone: of a schedule that is not there any more, slots get no runs, and none is offered.
func TestNotesNameWhatCanBeDone(t *testing.T) {
	due := landscape.MicrosOf(time.Now().Add(-time.Hour))
	failed := client.ScheduledSlot{
		Name: "2026-11-06", State: client.SlotState(landscape.SlotFailed), Run: "r1", Reason: "the disk is full",
		Due: client.Time(due),
	}
	missed := client.ScheduledSlot{Name: "2026-11-07", State: client.SlotState(landscape.SlotMissed), Reason: "paused"}
	for _, test := range []struct {
		of             client.Schedule
		failed, missed string
	}{
		{
			client.Schedule{ID: "s"}, "waymark schedule retry s --slot 2026-11-06",
			"missed: paused: waymark schedule backfill s 2026-11-07",
		},
		{client.Schedule{ID: "s", Removed: true}, "waymark status r1", "missed: paused"},
		{client.Schedule{ID: "s", Deleted: true}, "waymark status r1", "missed: paused"},
	} {
		require.Contains(t, noteOf(&failed, &test.of, failed.Name), "run r1: the disk is full: "+test.failed+"\n")
		require.Contains(t, noteOf(&missed, &test.of, missed.Name), test.missed+"\n")
	}
}
