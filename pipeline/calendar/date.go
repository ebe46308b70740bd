package calendar

import (
	"fmt"
	"time"
)

// Date is a day of the proleptic Gregorian calendar, as the number of days since 1 January 1970. It belongs to no zone.
type Date int64

// Clock is a time of day as clocks show it, in seconds since midnight: 0 to 86,399.
type Clock int64

const (
	minuteSeconds = 60
	hourSeconds   = 60 * minuteSeconds
	daySeconds    = 24 * hourSeconds
)

// ParseDate reads a date such as 2026-11-21, of the years 0001 to 9999.
func ParseDate(text string) (Date, error) {
	midnight, err := time.Parse(time.DateOnly, text)
	if err != nil || midnight.Year() < 1 {
		return 0, fmt.Errorf("%.40q is not a date: write it as 2026-11-21", text)
	}
	return Date(floorDiv(midnight.Unix(), daySeconds)), nil
}

// ParseClock reads a time of day such as 02:00.
func ParseClock(text string) (Clock, error) {
	at, err := time.Parse("15:04", text)
	if err != nil || len(text) != len("15:04") {
		return 0, fmt.Errorf("%.40q is not a time of day: write hours and minutes, as in 02:00", text)
	}
	return Clock(at.Hour()*hourSeconds + at.Minute()*minuteSeconds), nil
}

// DateOf returns the day that clocks in the zone show at an instant.
func DateOf(t time.Time, zone *time.Location) Date {
	return Date(floorDiv(wall(t, zone), daySeconds))
}

// String returns the date as 2026-11-21.
func (d Date) String() string { return d.midnight().Format(time.DateOnly) }

// String returns the time as 02:00.
func (c Clock) String() string {
	return fmt.Sprintf("%02d:%02d", c/hourSeconds, c%hourSeconds/minuteSeconds)
}

// Weekday returns the day of the week.
func (d Date) Weekday() time.Weekday { return d.midnight().Weekday() }

// midnight is the date's beginning in UTC, which serves for what concerns the calendar and no clock.
func (d Date) midnight() time.Time { return time.Unix(int64(d)*daySeconds, 0).UTC() }

// dateOf returns the date, of which month and day may lie outside of their ranges, as in the 0th of the 13th month.
func dateOf(year, month, day int) Date {
	return Date(floorDiv(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix(), daySeconds))
}

// At returns the earliest instant at which clocks in the zone show that time on that day, or a later one. If they skip the time, that is
// the first instant after the gap; if they show it twice, it is the first. Of a later day or time it never returns an earlier instant.
//
// It does not go by time.Date, which leaves open on which side of a gap, and at which of two instants, it ends.
func At(date Date, clock Clock, zone *time.Location) time.Time {
	want := int64(date)*daySeconds + int64(clock)
	for unix := want - maxOffsetSeconds; ; {
		_, end, offset := stretch(unix, zone)
		switch instant := want - offset; {
		case instant < unix: // the clocks jumped beyond it when this stretch began
			return instantAt(unix)
		case instant < end:
			return instantAt(instant)
		}
		unix = end
	}
}

// stretch returns a stretch of time around an instant in which clocks in the zone run evenly, and how far they are ahead of UTC in it. It
// may be shorter than it could be.
func stretch(unix int64, zone *time.Location) (start, end, offset int64) {
	local := time.Unix(unix, 0).In(zone)
	_, ahead := local.Zone()
	start, end = -unbounded, unbounded
	first, beyond := local.ZoneBounds()
	if !first.IsZero() {
		start = min(first.Unix(), unix)
	}
	if !beyond.IsZero() {
		end = beyond.Unix()
	}
	if end <= unix { // what Go 1.26 says of the last day of leap years that the zone's table does not reach
		end = (floorDiv(unix, minuteSeconds) + 1) * minuteSeconds
	}
	return start, end, int64(ahead)
}

// unbounded is where a stretch ends that has no end.
const unbounded = 1 << 62

func instantAt(unix int64) time.Time { return time.Unix(unix, 0).UTC() }

// maxOffsetSeconds is more than clocks anywhere have ever been before or behind UTC.
const maxOffsetSeconds = 36 * hourSeconds

// wall is what clocks in the zone show, in seconds since they would have shown midnight of 1 January 1970.
func wall(t time.Time, zone *time.Location) int64 {
	_, offset := t.In(zone).Zone()
	return t.Unix() + int64(offset)
}

// floorDiv divides and rounds down, also below zero.
func floorDiv(a, b int64) int64 {
	if a%b < 0 {
		return a/b - 1
	}
	return a / b
}
