package calendar_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/pipeline/calendar"
	"waymark/tests/sample"
)

// TestEveryDayOfEveryZone lists the slots of every day of 1990 to 2040 in all zones that differ: each day that a zone
// had is one slot, which begins where the one before ends. Further times of day matter where clocks or years change. By
// day some zones are tried, with those that once skipped a day.
func TestEveryDayOfEveryZone(t *testing.T) {
	all := span{time.Date(1990, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(2041, 1, 1, 12, 0, 0, 0, time.UTC)}
	var seen seenDays
	_, distinct := zones(t)
	step := sample.Step(6)
	tried := sample.Of(6, distinct)
	if step > 1 {
		tried = append(tried, "Pacific/Apia", "Pacific/Kwajalein", "Pacific/Kiritimati")
	}
	for i, name := range tried {
		var changes, ends []span
		for j := range *timesOfDay {
			s := schedule(t, calendar.Spec{Every: "day", At: fmt.Sprintf("%02d:%02d", (i+j)%4, (i*7+j*13)%60), Zone: name})
			if j == 0 {
				seen.days(t, s, all)
				changes, ends = specialDays(s.Zone(), all)
				continue
			}
			for _, in := range changes {
				seen.days(t, s, in)
			}
			for _, in := range ends[:len(ends)*count(j < 4)] {
				seen.days(t, s, in)
			}
		}
	}
	require.GreaterOrEqual(t, seen.skipped, 3**timesOfDay, "some zones skipped a day")
	require.Greater(t, seen.changed, 10_000**timesOfDay/step)
	require.Greater(t, seen.gaps, 1000**timesOfDay/step)
	require.Greater(t, seen.folds, 500**timesOfDay/step)
}

// span is a stretch of time.
type span struct{ from, to time.Time }

// specialDays returns the days around each moment of a time at which clocks in the zone change, and around the ends of years, of which Go may say
// too little: then the end of a day is found minute by minute.
func specialDays(zone *time.Location, in span) (changes, ends []span) {
	_, ahead := in.from.In(zone).Zone()
	for at := in.from; at.Before(in.to); at = at.Add(12 * time.Hour) {
		around := span{at.Add(-60 * time.Hour), at.Add(60 * time.Hour)}
		if _, now := at.In(zone).Zone(); now != ahead {
			changes = append(changes, around)
			ahead = now
		}
		if at.YearDay() == 1 && at.Hour() == 12 {
			ends = append(ends, around)
		}
	}
	return changes, ends
}

// seenDays counts what makes days special.
type seenDays struct{ skipped, changed, gaps, folds int }

// days lists the slots of a time.
func (n *seenDays) days(t *testing.T, s *calendar.Schedule, in span) {
	t.Helper()
	var last calendar.Slot
	for slot := range s.Slots(in.from, in.to) {
		if problem := wrongDay(last, slot, s.Zone()); problem != "" {
			t.Fatalf("%s, slot %s (%s to %s, due %s): %s", s.Zone(), slot.Name, slot.From, slot.To, slot.Due, problem)
		}
		n.skipped += count(numberOf(slot.Name) == numberOf(last.Name)+2)
		n.changed += count(slot.Longer != 0)
		n.gaps += count(slot.ClockChange == calendar.Shifted)
		n.folds += count(slot.ClockChange == calendar.Repeated)
		last = slot
	}
	require.False(t, last.To.Before(in.to), "the last slot ends after the time")
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// numberOf is 20261121 for 2026-11-21.
func numberOf(date string) (n int) {
	for i := range len(date) {
		if date[i] != '-' {
			n = 10*n + int(date[i]-'0')
		}
	}
	return n
}

// wrongDay says what is wrong with the slot of a day that follows another one: nothing, if it is the time in which clocks in the zone show
// that day for the first time.
func wrongDay(last, slot calendar.Slot, zone *time.Location) string {
	name := numberOf(slot.Name)
	shown := func(at time.Time) int {
		year, month, day := at.In(zone).Date()
		return 10_000*year + 100*int(month) + day
	}
	switch {
	case shown(slot.From) != name:
		return "does not begin on its day"
	case shown(slot.To.Add(-time.Second)) != name:
		return "does not end on its day"
	case shown(slot.To) <= name:
		return "is not over at its end"
	case shown(slot.From.Add(-time.Second)) >= name:
		return "had begun before"
	case slot.Due.Before(slot.To):
		return "is due before it is over"
	case last.Name == "":
		return ""
	case !last.To.Equal(slot.From):
		return "does not begin where the one before ends"
	case last.Name >= slot.Name:
		return "is not named after the one before"
	case !last.Due.Before(slot.Due):
		return "is not due after the one before"
	}
	return ""
}

// anySpec draws a schedule that New takes.
func anySpec(t *rapid.T) calendar.Spec {
	spec := calendar.Spec{Zone: rapid.SampledFrom(calendar.Zones()).Draw(t, "zone")}
	clock := fmt.Sprintf("%02d:%02d", rapid.IntRange(0, 23).Draw(t, "hour"), rapid.IntRange(0, 59).Draw(t, "minute"))
	unit := rapid.SampledFrom([]string{"day", "week", "month", "quarter", "year", "minute", "hour", "15m", "7h", "90s", "days", "cron"}).Draw(t, "rule")
	covers := []string{"", "since last"}
	switch unit {
	case "days":
		spec.Days = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}), 1, 7, rapid.ID[string]).Draw(t, "days")
		spec.At, unit = clock, "day"
		covers = append(covers, "-3d..-2d", "0d..1d")
	case "cron":
		spec.Cron = rapid.SampledFrom([]string{
			"30 2 * * *", "0 2 * * MON-FRI", "0 0 29 2 *", "*/20 1-3 * * *", "0,30 0,23 * * SUN", "0 * * * *", "*/17 * 1,31 * *", "5 * * 3,10 SUN", "59 23 13 * FRI",
		}).Draw(t, "cron")
		unit = ""
	default:
		spec.Every = unit
		if slices.Contains([]string{"day", "week", "month", "quarter", "year"}, unit) {
			spec.At = clock
		}
	}
	if unit != "" {
		covers = append(covers, unit+" before", "same "+unit)
	}
	spec.Covers = rapid.SampledFrom(covers).Draw(t, "covers")
	return spec
}

// Whatever a schedule is, its slots tile time, in order and each with a name of its own by which it is found.
func TestSlotsTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := anySpec(t)
		s := schedule(t, spec)
		from := time.Unix(rapid.Int64Range(631_152_000, 2_240_524_800).Draw(t, "from"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		var slots []calendar.Slot
		for slot := range s.Slots(from, from.AddDate(90, 0, 0)) {
			if slots = append(slots, slot); len(slots) == 60 {
				break
			}
		}
		require.False(t, slots[0].From.After(from), "covers the beginning")
		require.True(t, slots[0].To.After(from))
		names := map[string]bool{}
		for i, slot := range slots {
			require.False(t, names[slot.Name], "%s is there twice", slot.Name)
			names[slot.Name] = true
			require.True(t, slot.From.Before(slot.To))
			found, err := s.Named(slot.Name)
			require.NoError(t, err)
			require.Equal(t, slot, found)
			if i > 0 {
				require.Equal(t, slots[i-1].To, slot.From)
				require.Less(t, slots[i-1].Name, slot.Name)
				require.False(t, slot.Due.Before(slots[i-1].Due))
			}
		}
		again := slices.Collect(s.Slots(slots[1].From, slots[len(slots)-1].From))
		require.Equal(t, slots[1:len(slots)-1], again, "the same whatever part of time is asked for")
	})
}

// What is due from an instant on is what the slots of all time around it say.
func TestDueAgreesWithSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := schedule(t, anySpec(t))
		from := time.Unix(rapid.Int64Range(631_152_000, 2_240_524_800).Draw(t, "from"), 0).UTC()
		var due []calendar.Slot
		for slot := range s.Due(from) {
			if due = append(due, slot); len(due) == 5 {
				break
			}
		}
		var want []calendar.Slot
		for slot := range s.Slots(due[0].From.Add(-time.Second), due[4].To) {
			if !slot.Due.Before(from) {
				want = append(want, slot)
			}
		}
		require.Equal(t, want, due)
	})
}
