package slots

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/blank"
)

// A slot has one row for ever: that of a name that recurs when the schedule is edited stays as it is, and the slots
// after it are those of the new schedule.
func TestASlotWhoseNameRecursIsRecordedOnce(t *testing.T) {
	at := func(clock string) time.Time {
		t.Helper()
		instant, err := time.Parse("2006-01-02T15:04", "2026-11-"+clock)
		require.NoError(t, err)
		return instant
	}
	for name, test := range map[string]struct {
		before, after string
		edited, now   time.Time
		want          string // the slots, in the order in which they are due, each with what it covers
	}{
		"a later time of day": {
			before: `{"Every":{"Word":"day"},"At":"16:18","Zone":"UTC"}`,
			after:  `{"Every":{"Word":"day"},"At":"16:26","Zone":"UTC"}`,
			edited: at("30T16:20"), now: at("30T16:27").Add(24 * time.Hour),
			want: "2026-11-29 24h0m0s; 2026-11-30 24h0m0s",
		},
		"longer slots": {
			before: `{"Every":{"Word":"minute"}}`, after: `{"Every":{"Word":"5m"}}`,
			edited: at("30T16:13"), now: at("30T16:25"),
			want: "2026-11-30T16:09Z 1m0s; 2026-11-30T16:10Z 1m0s; 2026-11-30T16:11Z 1m0s; 2026-11-30T16:12Z 1m0s; " +
				"2026-11-30T16:15Z 5m0s; 2026-11-30T16:20Z 5m0s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := test.edited.Add(-3 * time.Minute)
			log := landscape.New(blank.New(t), func() time.Time { return now })
			const id = "default/x/nightly"
			set := func(spec string) {
				row := landscapetest.ScheduleOf("x", "nightly")
				row.Spec = spec
				require.NoError(t, landscapetest.SetSchedule(t.Context(), log, row))
			}
			bundle, version := landscapetest.VersionOf("x", "1", strings.Repeat("d", 64))
			_, err := log.Deploy(t.Context(), landscape.DefaultEnvironment, bundle, version)
			require.NoError(t, err)
			set(test.before)
			now = test.edited
			require.NoError(t, RecordDue(t.Context(), log, id, now))
			set(test.after)
			now = test.now
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.NoError(t, RecordDue(ctx, log, id, now))
			recorded, err := log.SlotsBetween(t.Context(), id, 0, landscape.MicrosOf(now)+1)
			require.NoError(t, err)
			var said []string
			for _, slot := range recorded {
				require.Zero(t, slot.Changes)
				said = append(said, slot.Name+" "+slot.To.Time().Sub(slot.From.Time()).String())
			}
			require.Equal(t, test.want, strings.Join(said, "; "))
		})
	}
}
