package calendar_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/calendar"
)

func schedule(t require.TestingT, spec calendar.Spec) *calendar.Schedule {
	s, err := calendar.New(spec)
	require.NoError(t, err)
	return s
}

// line writes a slot as the tests compare it: name, from, to, due, all in the schedule's zone.
func line(s *calendar.Schedule, slot calendar.Slot) string {
	show := func(at time.Time) string { return at.In(s.Zone()).Format("01-02T15:04") }
	line := fmt.Sprintf("%s %s %s %s", slot.Name, show(slot.From), show(slot.To), show(slot.Due))
	if slot.Longer != 0 {
		line += fmt.Sprintf(" %+g", slot.Longer.Hours())
	}
	if slot.ClockChange != calendar.OnTime {
		line += " " + string(slot.ClockChange)
	}
	if slot.Except {
		line += " except"
	}
	return line
}

// firstSlots returns the first slots that cover something from an instant on.
func firstSlots(t *testing.T, s *calendar.Schedule, from string, n int) string {
	t.Helper()
	at, err := time.Parse(time.RFC3339, from)
	require.NoError(t, err)
	var lines []string
	for slot := range s.Slots(at, at.AddDate(100, 0, 0)) {
		if lines = append(lines, line(s, slot)); len(lines) == n {
			break
		}
	}
	return strings.Join(lines, "\n")
}

const berlin = "Europe/Berlin"

func TestSlots(t *testing.T) {
	for _, c := range []struct {
		what string
		spec calendar.Spec
		from string
		want string
	}{
		{"days", calendar.Spec{Every: "day", At: "02:00", Zone: berlin}, "2026-11-21T12:00:00Z", `
			2026-11-21 11-21T00:00 11-22T00:00 11-22T02:00
			2026-11-22 11-22T00:00 11-23T00:00 11-23T02:00`},
		{"a short day, and due in the gap", calendar.Spec{Every: "day", At: "02:30", Zone: berlin}, "2026-03-27T23:00:00Z", `
			2026-03-28 03-28T00:00 03-29T00:00 03-29T03:00 shifted
			2026-03-29 03-29T00:00 03-30T00:00 03-30T02:30 -1
			2026-03-30 03-30T00:00 03-31T00:00 03-31T02:30`},
		{"a long day, and due in the fold", calendar.Spec{Every: "day", At: "02:30", Zone: berlin}, "2026-10-24T12:00:00Z", `
			2026-10-24 10-24T00:00 10-25T00:00 10-25T02:30 repeated
			2026-10-25 10-25T00:00 10-26T00:00 10-26T02:30 +1`},
		{"midnight in a gap", calendar.Spec{Every: "day", Zone: "America/Sao_Paulo"}, "2017-10-14T12:00:00Z", `
			2017-10-14 10-14T00:00 10-15T01:00 10-15T01:00 shifted
			2017-10-15 10-15T01:00 10-16T00:00 10-16T00:00 -1`},
		{"a day that was skipped", calendar.Spec{Every: "day", At: "02:00", Zone: "Pacific/Apia"}, "2011-12-29T12:00:00Z", `
			2011-12-29 12-29T00:00 12-31T00:00 12-31T02:00 shifted
			2011-12-31 12-31T00:00 01-01T00:00 01-01T02:00`},
		{"the same day", calendar.Spec{Every: "day", At: "18:00", Zone: berlin, Covers: "same day"}, "2026-11-21T12:00:00Z", `
			2026-11-21 11-21T00:00 11-22T00:00 11-21T18:00`},
		{"the day before the day before", calendar.Spec{Every: "day", At: "02:00", Zone: berlin, Covers: "-2d..-1d"}, "2026-11-21T12:00:00Z", `
			2026-11-21 11-21T00:00 11-22T00:00 11-23T02:00`},
		{"since last", calendar.Spec{Every: "day", At: "02:30", Zone: berlin, Covers: "since last"}, "2026-03-28T02:00:00Z", `
			2026-03-28T02:30 03-28T02:30 03-29T03:00 03-29T03:00 -0.5 shifted
			2026-03-29T02:30 03-29T03:00 03-30T02:30 03-30T02:30 -0.5`},
		{"weeks", calendar.Spec{Every: "week", At: "06:00", Zone: berlin}, "2026-11-21T12:00:00Z", `
			2026-W47 11-16T00:00 11-23T00:00 11-23T06:00`},
		{"the week of two years", calendar.Spec{Every: "week"}, "2026-12-31T12:00:00Z", `
			2026-W53 12-28T00:00 01-04T00:00 01-04T00:00`},
		{"months", calendar.Spec{Every: "month", At: "02:00", Zone: berlin}, "2026-03-21T12:00:00Z", `
			2026-03 03-01T00:00 04-01T00:00 04-01T02:00 -1
			2026-04 04-01T00:00 05-01T00:00 05-01T02:00`},
		{"quarters", calendar.Spec{Every: "quarter", Covers: "-1q..0q"}, "2026-11-21T12:00:00Z", `
			2026-Q4 10-01T00:00 01-01T00:00 01-01T00:00`},
		{"years", calendar.Spec{Every: "year", At: "12:00", Zone: berlin, Covers: "same year"}, "2026-11-21T12:00:00Z", `
			2026 01-01T00:00 01-01T00:00 01-01T12:00
			2027 01-01T00:00 01-01T00:00 01-01T12:00`},
		{"hours of a short day", calendar.Spec{Every: "hour", Zone: berlin}, "2026-03-29T00:10:00Z", `
			2026-03-29T00:00Z 03-29T01:00 03-29T03:00 03-29T03:00
			2026-03-29T01:00Z 03-29T03:00 03-29T04:00 03-29T04:00`},
		{"a length", calendar.Spec{Every: "15m", Covers: "-30m..-15m"}, "2026-11-21T02:20:00Z", `
			2026-11-21T02:15Z 11-21T02:15 11-21T02:30 11-21T02:45`},
		{"seconds", calendar.Spec{Every: "2s", Covers: "same 2s"}, "2026-11-21T02:20:01Z", `
			2026-11-21T02:20:00Z 11-21T02:20 11-21T02:20 11-21T02:20
			2026-11-21T02:20:02Z 11-21T02:20 11-21T02:20 11-21T02:20`},
		{"days of the week", calendar.Spec{Days: []string{"thu", "mon"}, At: "06:00", Zone: berlin}, "2026-11-21T12:00:00Z", `
			2026-11-19 11-19T00:00 11-23T00:00 11-23T06:00
			2026-11-23 11-23T00:00 11-26T00:00 11-26T06:00`},
		{"days of the week, the same day", calendar.Spec{Days: []string{"mon", "thu"}, At: "18:00", Zone: berlin, Covers: "same day"}, "2026-11-21T12:00:00Z", `
			2026-11-20 11-20T00:00 11-24T00:00 11-23T18:00`},
		{"cron on weekdays", calendar.Spec{Cron: "0 2 * * MON-FRI", Zone: berlin}, "2026-11-20T12:00:00Z", `
			2026-11-20 11-20T00:00 11-23T00:00 11-23T02:00
			2026-11-23 11-23T00:00 11-24T00:00 11-24T02:00`},
		{"cron on a leap day", calendar.Spec{Cron: "0 2 29 2 *", Zone: "UTC"}, "2096-03-01T00:00:00Z", `
			2096-02-29 02-29T00:00 02-29T00:00 02-29T02:00`},
		{"cron on days of the month or of the week", calendar.Spec{Cron: "0 2 13 * FRI", Zone: "UTC"}, "2026-11-12T00:00:00Z", `
			2026-11-06 11-06T00:00 11-13T00:00 11-13T02:00
			2026-11-13 11-13T00:00 11-20T00:00 11-20T02:00`},
		{"cron at several times", calendar.Spec{Cron: "30 2,14 * * *", Zone: berlin}, "2026-03-28T12:00:00Z", `
			2026-03-28T02:30 03-28T02:30 03-28T14:30 03-28T14:30
			2026-03-28T14:30 03-28T14:30 03-29T03:00 03-29T03:00 -0.5 shifted
			2026-03-29T02:30 03-29T03:00 03-29T14:30 03-29T14:30 -0.5`},
		{"cron with steps", calendar.Spec{Cron: "5/40 1-20/18 ? jun,OCT/2 *", Zone: "UTC"}, "2026-10-31T02:00:00Z", `
			2026-10-31T01:45 10-31T01:45 10-31T19:05 10-31T19:05
			2026-10-31T19:05 10-31T19:05 10-31T19:45 10-31T19:45
			2026-10-31T19:45 10-31T19:45 12-01T01:05 12-01T01:05`},
		{"cron on every tenth day or Sundays", calendar.Spec{Cron: "0 2 */10 * 0", Zone: "UTC"}, "2026-11-12T00:00:00Z", `
			2026-11-11 11-11T00:00 11-15T00:00 11-15T02:00
			2026-11-15 11-15T00:00 11-21T00:00 11-21T02:00
			2026-11-21 11-21T00:00 11-22T00:00 11-22T02:00`},
		{"cron on Sundays, on any day of the month", calendar.Spec{Cron: "0 2 *,3 * 0", Zone: "UTC"}, "2026-11-12T00:00:00Z", `
			2026-11-08 11-08T00:00 11-15T00:00 11-15T02:00
			2026-11-15 11-15T00:00 11-22T00:00 11-22T02:00`},
		{"cron at several times in one gap", calendar.Spec{Cron: "0,30 2-3 * * *", Zone: berlin}, "2026-03-28T12:00:00Z", `
			2026-03-28T03:30 03-28T03:30 03-29T03:00 03-29T03:00 shifted
			2026-03-29T03:00 03-29T03:00 03-29T03:30 03-29T03:30`},
		{"cron in every hour, one of which is repeated", calendar.Spec{Cron: "15 * * * *", Zone: berlin}, "2026-10-25T00:20:00Z", `
			2026-10-25T00:15Z 10-25T02:15 10-25T02:15 10-25T02:15
			2026-10-25T01:15Z 10-25T02:15 10-25T03:15 10-25T03:15`},
		{"cron in every hour of some days", calendar.Spec{Cron: "0,30 * * * MON", Zone: "Asia/Kolkata"}, "2026-11-21T12:00:00Z", `
			2026-11-16T18:00Z 11-16T23:30 11-23T00:00 11-23T00:00
			2026-11-22T18:30Z 11-23T00:00 11-23T00:30 11-23T00:30`},
		{"excepted days", calendar.Spec{Every: "day", Zone: berlin, Except: []string{"2026-12-26", "2026-12-25"}}, "2026-12-24T12:00:00Z", `
			2026-12-24 12-24T00:00 12-25T00:00 12-25T00:00
			2026-12-25 12-25T00:00 12-26T00:00 12-26T00:00 except
			2026-12-26 12-26T00:00 12-27T00:00 12-27T00:00 except
			2026-12-27 12-27T00:00 12-28T00:00 12-28T00:00`},
		{"excepted days among others", calendar.Spec{Days: []string{"mon", "thu"}, Except: []string{"2026-11-19", "2026-11-20"}}, "2026-11-19T12:00:00Z", `
			2026-11-19 11-19T00:00 11-23T00:00 11-23T00:00`},
		{"hours of excepted days", calendar.Spec{Every: "12h", Zone: berlin, Except: []string{"2026-11-21"}}, "2026-11-21T00:00:00Z", `
			2026-11-21T00:00Z 11-21T01:00 11-21T13:00 11-21T13:00 except
			2026-11-21T12:00Z 11-21T13:00 11-22T01:00 11-22T01:00`},
	} {
		want := strings.ReplaceAll(strings.TrimSpace(c.want), "\t", "")
		s := schedule(t, c.spec)
		require.Equal(t, want, firstSlots(t, s, c.from, strings.Count(want, "\n")+1), c.what)
	}
}

func TestNamed(t *testing.T) {
	for _, c := range []struct {
		spec   calendar.Spec
		name   string
		from   string
		refuse string
	}{
		{calendar.Spec{Every: "day", Zone: berlin}, "2026-11-21", "2026-11-20T23:00:00Z", ""},
		{calendar.Spec{Every: "week"}, "2026-W53", "2026-12-28T00:00:00Z", ""},
		{calendar.Spec{Every: "month"}, "2026-11", "2026-11-01T00:00:00Z", ""},
		{calendar.Spec{Every: "quarter"}, "2026-Q4", "2026-10-01T00:00:00Z", ""},
		{calendar.Spec{Every: "year"}, "2026", "2026-01-01T00:00:00Z", ""},
		{calendar.Spec{Every: "hour"}, "2026-11-21T02:00Z", "2026-11-21T02:00:00Z", ""},
		{calendar.Spec{Every: "2s"}, "2026-11-21T02:00:04Z", "2026-11-21T02:00:04Z", ""},
		{calendar.Spec{Cron: "30 2,14 * * *", Zone: berlin}, "2026-03-29T02:30", "2026-03-29T01:00:00Z", ""},
		{calendar.Spec{Every: "day", At: "02:00", Zone: "Pacific/Apia"}, "2011-12-30", "", "the schedule has no slot named 2011-12-30: the one that covers it is 2011-12-31"},
		{calendar.Spec{Every: "week"}, "2026-11-21", "", "the schedule has no slot named 2026-11-21: the one that covers it is 2026-W47"},
		{calendar.Spec{Every: "year"}, "2026-11-21", "", "the schedule has no slot named 2026-11-21: the one that covers it is 2026"},
		{calendar.Spec{Days: []string{"mon"}}, "2026-11-21", "", "the schedule has no slot named 2026-11-21: the one that covers it is 2026-11-16"},
		{calendar.Spec{Every: "15m"}, "2026-11-21T02:07Z", "", "the schedule has no slot named 2026-11-21T02:07Z: the one that covers it is 2026-11-21T02:00Z"},
		{calendar.Spec{Every: "week"}, "2027-W53", "", "the schedule has no slot named 2027-W53: the one that covers it is 2028-W01"},
		{calendar.Spec{Every: "5m"}, "2026-11-21T02:07:00Z", "", "the schedule has no slot named 2026-11-21T02:07:00Z: the one that covers it is 2026-11-21T02:05Z"},
		{calendar.Spec{Every: "day"}, "2026-11-21T00:00:00Z", "", "the schedule has no slot named 2026-11-21T00:00:00Z: the one that covers it is 2026-11-21"},
		{calendar.Spec{Every: "day"}, "yesterday", "", `"yesterday" is not the name of a slot: write it as 2026-11-21`},
		{calendar.Spec{Every: "quarter"}, "2026-Q5", "", `"2026-Q5" is not the name of a slot: write it as 2026-Q4`},
		{calendar.Spec{Every: "quarter"}, "2026-Q4x", "", `"2026-Q4x" is not the name of a slot: write it as 2026-Q4`},
	} {
		slot, err := schedule(t, c.spec).Named(c.name)
		if c.refuse != "" {
			require.EqualError(t, err, c.refuse)
			continue
		}
		require.NoError(t, err, c.name)
		require.Equal(t, c.name, slot.Name)
		require.Equal(t, c.from, slot.From.Format(time.RFC3339))
	}
}

// TestAMomentNamesItsSlot with and without the seconds.
func TestAMomentNamesItsSlot(t *testing.T) {
	for every, names := range map[string][]string{
		"5m":  {"2026-11-30T16:05Z", "2026-11-30T16:05:00Z"},
		"20s": {"2026-11-30T16:05:00Z", "2026-11-30T16:05Z"},
	} {
		for _, name := range names {
			slot, err := schedule(t, calendar.Spec{Every: every}).Named(name)
			require.NoError(t, err)
			require.Equal(t, names[0], slot.Name)
		}
	}
	require.True(t, calendar.SameName("2026-11-30T16:05Z/region=eu", "2026-11-30T16:05:00Z/region=eu"))
	require.False(t, calendar.SameName("2026-11-30T16:05Z/region=eu", "2026-11-30T16:05:00Z"))
	require.False(t, calendar.SameName("2026-11-30T16:05Z", "2026-11-30T16:05:20Z"))
}

func TestDueBeginsWithTheFirstSlot(t *testing.T) {
	s := schedule(t, calendar.Spec{Every: "day", At: "02:00", Zone: "UTC"})
	for from, want := range map[string]string{
		"2026-11-21T02:00:00Z": "2026-11-20", "2026-11-21T02:00:01Z": "2026-11-21", "2026-11-20T23:00:00Z": "2026-11-20",
	} {
		at, err := time.Parse(time.RFC3339, from)
		require.NoError(t, err)
		for slot := range s.Due(at) {
			require.Equal(t, want, slot.Name, from)
			break
		}
	}
}

func TestSlotsEndWithTheYear9999(t *testing.T) {
	s := schedule(t, calendar.Spec{Every: "year"})
	var last string
	for slot := range s.Due(time.Date(9990, 1, 1, 0, 0, 0, 0, time.UTC)) {
		last = slot.Name
	}
	require.Equal(t, "9998", last)
	for slot := range s.Due(time.Time{}) {
		require.Equal(t, "0001", slot.Name)
		break
	}
}

func TestJitterDelaysTheStartAlone(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	plain := schedule(t, calendar.Spec{Every: "hour"})
	jittered := schedule(t, calendar.Spec{Every: "hour", Jitter: 5 * time.Minute, Seed: "orders/hourly"})
	other := schedule(t, calendar.Spec{Every: "hour", Jitter: 5 * time.Minute, Seed: "orders/others"})
	starts := map[time.Duration]bool{}
	different := 0
	for slot := range jittered.Slots(from, from.AddDate(0, 1, 0)) {
		delay := slot.Start.Sub(slot.Due)
		require.True(t, 0 <= delay && delay <= 5*time.Minute, "%s starts %s after it is due", slot.Name, delay)
		starts[delay] = true
		same, err := plain.Named(slot.Name)
		require.NoError(t, err)
		require.Equal(t, same.Due, same.Start)
		slot.Start = same.Start
		require.Equal(t, same, slot)
		elsewhere, err := other.Named(slot.Name)
		require.NoError(t, err)
		if elsewhere.Start.Sub(elsewhere.Due) != delay {
			different++
		}
	}
	require.Greater(t, len(starts), 200)
	require.Greater(t, different, 600)
}

// TestLast finds the slot that was due last, when it is due, a moment before and after years without one.
func TestLast(t *testing.T) {
	daily := schedule(t, calendar.Spec{Every: "day", At: "02:30", Zone: "Europe/Berlin"})
	for text, want := range map[string]string{
		"2026-03-29T01:00:00Z": "2026-03-28", "2026-03-29T00:59:59Z": "2026-03-27", "2026-03-29T10:00:00Z": "2026-03-28", "2026-10-25T00:30:00Z": "2026-10-24",
	} {
		at, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		slot, found := daily.Last(at)
		require.True(t, found, text)
		require.Equal(t, want, slot.Name, text)
	}
	leap := schedule(t, calendar.Spec{Cron: "0 0 29 2 *", Zone: "UTC"})
	slot, found := leap.Last(time.Date(2027, 11, 23, 0, 0, 0, 0, time.UTC))
	require.True(t, found)
	require.Equal(t, time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), slot.Due.UTC())
}
