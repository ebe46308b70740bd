package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// TestTrouble tries what keeps a trigger from beginning runs.
func TestTrouble(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	ago := func(age time.Duration) landscape.Micros { return landscape.MicrosOf(now.Add(-age)) }
	for name, c := range map[string]struct {
		change func(*Trigger)
		want   string
		cure   string
	}{
		"nothing":         {func(*Trigger) {}, "", ""},
		"something waits": {func(t *Trigger) { t.Waiting, t.Oldest = 2, Time(ago(time.Minute)) }, "", ""},
		"it waits for too long": {
			func(t *Trigger) { t.Waiting, t.Oldest = 2, Time(ago(time.Hour)) },
			"2 files wait, since 2026-11-28T11:00:00Z",
			"see what waits with waymark triggers arrivals default/orders/calls, and what executes with waymark runs",
		},
		"it waits for others": {func(t *Trigger) {
			t.Waiting, t.Oldest, t.declared.Batch.Wait = 1, Time(ago(time.Hour)), pipeline.Duration(time.Hour)
		}, "", ""},
		"paused": {
			func(t *Trigger) { t.Paused, t.Waiting, t.Error = true, 1, "no folder" },
			"paused by ann: rubbish; 1 file waits", "waymark triggers resume default/orders/calls",
		},
		"an error": {
			func(t *Trigger) { t.Error = "no folder" }, "no folder", "do what is said of default/orders/calls",
		},
		"nobody looks": {
			func(t *Trigger) { t.tended = ago(2 * time.Minute) }, "nobody looks after it; 0 files wait",
			"start waymark serve, or a worker that sees the same files, and look what it says",
		},
		"nobody looks yet":      {func(t *Trigger) { t.tended, t.Since = 0, Time(ago(time.Second)) }, "", ""},
		"it looks now and then": {func(t *Trigger) { t.tended, t.declared.Every = ago(time.Hour), pipeline.Duration(time.Hour) }, "", ""},
		"removed":               {func(t *Trigger) { t.Removed, t.tended = true, 0 }, "", ""},
		"removed, and two waits": {
			func(t *Trigger) { t.Removed, t.Waiting, t.Kind = true, 2, DeliveryTrigger },
			"it was removed with version 3, and 2 deliveries wait",
			"deploy a version that has it, or waymark triggers ignore default/orders/calls --all --why TEXT",
		},
	} {
		t.Run(name, func(t *testing.T) {
			trigger := Trigger{
				ID: "default/orders/calls", Pipeline: "orders", Kind: FileTrigger, Version: 3, Actor: "ann",
				Why: "rubbish", Since: Time(ago(time.Hour)), tended: ago(time.Second),
			}
			c.change(&trigger)
			trouble, cure := trigger.Trouble(now)
			require.Equal(t, []string{c.want, c.cure}, []string{trouble, cure})
		})
	}
}
