package calendar_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/calendar"
)

func date(t *testing.T, text string) calendar.Date {
	t.Helper()
	d, err := calendar.ParseDate(text)
	require.NoError(t, err)
	return d
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

func TestAt(t *testing.T) {
	for _, c := range []struct{ what, zone, date, clock, want string }{
		{"UTC", "UTC", "2026-11-21", "02:00", "2026-11-21T02:00:00Z"},
		{"winter", "Europe/Berlin", "2026-11-21", "02:00", "2026-11-21T01:00:00Z"},
		{"a gap", "Europe/Berlin", "2026-03-29", "02:30", "2026-03-29T01:00:00Z"},
		{"after a gap", "Europe/Berlin", "2026-03-29", "03:00", "2026-03-29T01:00:00Z"},
		{"a fold: the first", "Europe/Berlin", "2026-10-25", "02:30", "2026-10-25T00:30:00Z"},
		{"after a fold", "Europe/Berlin", "2026-10-25", "03:00", "2026-10-25T02:00:00Z"},
		{"midnight in a gap", "America/Sao_Paulo", "2017-10-15", "00:00", "2017-10-15T03:00:00Z"},
		{"midnight in a fold", "America/Havana", "2026-11-01", "00:00", "2026-11-01T04:00:00Z"},
		{"midnight twice", "America/St_Johns", "2005-10-30", "00:00", "2005-10-30T02:30:00Z"},
		{"a gap of half an hour", "Australia/Lord_Howe", "2026-10-04", "02:15", "2026-10-03T15:30:00Z"},
		{"a day that was skipped", "Pacific/Apia", "2011-12-30", "02:00", "2011-12-30T10:00:00Z"},
		{"the day after it", "Pacific/Apia", "2011-12-31", "02:00", "2011-12-30T12:00:00Z"},
		{"the last day of a leap year far away", "Europe/Berlin", "2040-12-31", "02:30", "2040-12-31T01:30:00Z"},
	} {
		clock, err := calendar.ParseClock(c.clock)
		require.NoError(t, err)
		require.Equal(t, c.want, calendar.At(date(t, c.date), clock, zone(t, c.zone)).Format(time.RFC3339), c.what)
	}
}

// Whatever the clocks do, At is the first of all minutes at which they show the time or a later one.
func TestAtIsTheFirstMinute(t *testing.T) {
	for _, c := range []struct{ zone, date string }{
		{"Europe/Berlin", "2026-03-29"}, {"Europe/Berlin", "2026-10-25"}, {"America/Sao_Paulo", "2017-10-15"}, {"America/Sao_Paulo", "2018-02-17"},
		{"America/St_Johns", "2005-10-29"}, {"America/St_Johns", "2005-10-30"}, {"Australia/Lord_Howe", "2026-10-04"}, {"Pacific/Apia", "2011-12-30"},
		{"Pacific/Kiritimati", "1994-12-31"}, {"Africa/Casablanca", "2026-03-22"}, {"Antarctica/Troll", "2026-03-29"}, {"America/Caracas", "2016-05-01"},
	} {
		in, day := zone(t, c.zone), date(t, c.date)
		for clock := calendar.Clock(0); clock < 86_400; clock += 7 * 60 {
			want := day.String() + " " + clock.String()
			first := time.Unix(int64(day)*86_400, 0).Add(-26 * time.Hour)
			for first.In(in).Format("2006-01-02 15:04") < want {
				first = first.Add(time.Minute)
			}
			require.Equal(t, first.UTC(), calendar.At(day, clock, in), "%s in %s", want, c.zone)
		}
	}
}

func TestParseDateAndClock(t *testing.T) {
	require.Equal(t, "2024-02-29", date(t, "2024-02-29").String())
	require.Equal(t, "0001-01-01", date(t, "0001-01-01").String())
	require.Equal(t, time.Saturday, date(t, "2026-11-21").Weekday())
	for _, text := range []string{"", "2026-02-29", "2026-1-1", "21.11.2026", "2026-11-21T00:00", "0000-01-01"} {
		_, err := calendar.ParseDate(text)
		require.ErrorContains(t, err, "is not a date: write it as 2026-11-21", text)
	}
	for _, text := range []string{"", "2:00", "24:00", "02:60", "02:00:00", "2am"} {
		_, err := calendar.ParseClock(text)
		require.ErrorContains(t, err, "is not a time of day: write hours and minutes, as in 02:00", text)
	}
}
