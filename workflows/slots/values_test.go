package slots

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/tests/blank"
)

// Whenever somebody looks, and whatever was asked for before: each value has one slot of each interval, and none is left out.
func TestEachValueHasOneSlotOfEachInterval(test *testing.T) {
	driver := blank.New(test)
	rapid.Check(test, func(t *rapid.T) {
		values := rapid.IntRange(1, 300).Draw(t, "values")
		driver.Reset(test)
		log, s := withValues(t.Context(), driver, t, "15m", values)
		now := s.Since.Time()
		begin := now
		for range rapid.IntRange(1, 6).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5*3600).Draw(t, "seconds")) * time.Second)
			if rapid.Bool().Draw(t, "asks") {
				for _, slot := range s.Calendar.Next(now)[:1] {
					_ = log.ChangeSlots(t.Context(), nil, []landscape.SlotChange{{To: s.Record(slot, false)}}) // it may be recorded
				}
			}
			require.NoError(t, RecordDue(t.Context(), log, s.ID, now))
		}
		recorded, err := log.SlotsBetween(t.Context(), s.ID, 0, landscape.MicrosOf(now)+1)
		require.NoError(t, err)
		names := map[string]bool{}
		for _, slot := range recorded {
			require.False(t, names[slot.Name], slot.Name)
			names[slot.Name] = true
		}
		for slot := range s.Calendar.Due(begin) {
			if slot.Due.After(now) {
				break
			}
			require.True(t, names[slot.Name], slot.Name)
			delete(names, slot.Name)
		}
		require.Empty(t, names)
	})
}

// withValues records a schedule with so many values.
func withValues(ctx context.Context, driver landscape.Driver, t require.TestingT, every string, n int) (*landscape.Log, *Schedule) {
	log := landscape.New(driver, func() time.Time { return day(1).Time() })
	bundle, version := landscapetest.VersionOf("x", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(ctx, landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	declared := pipeline.Schedule{Every: pipeline.Every{Word: every}, ForEach: pipeline.Map[pipeline.Each]{{Name: "tenant"}}}
	for i := range n {
		declared.ForEach[0].Value.Values = append(declared.ForEach[0].Value.Values, fmt.Sprint("t/", i))
	}
	spec, err := json.Marshal(declared)
	require.NoError(t, err)
	row := landscapetest.ScheduleOf("x", "nightly")
	row.Spec = string(spec)
	require.NoError(t, landscapetest.SetSchedule(ctx, log, row))
	row, err = log.Schedule(ctx, "default/x/nightly")
	require.NoError(t, err)
	s, err := Read(row)
	require.NoError(t, err)
	return log, s
}
