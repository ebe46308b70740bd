package calendar

import (
	"fmt"
	"time"
)

// unit is a length of the calendar, numbered along time.
type unit struct {
	word   string
	suffix string // in ranges, such as -2d..-1d
	of     func(Date) int64
	first  func(n int64) Date
	name   func(first Date) string
}

var (
	day = unit{
		"day", "d",
		func(d Date) int64 { return int64(d) },
		func(n int64) Date { return Date(n) },
		Date.String,
	}
	// week begins on Monday, and has the number of ISO 8601.
	week = unit{
		"week", "w",
		func(d Date) int64 { return floorDiv(int64(d)+thursdayFirst, 7) },
		func(n int64) Date { return Date(n*7 - thursdayFirst) },
		func(d Date) string {
			year, number := d.midnight().ISOWeek()
			return fmt.Sprintf("%04d-W%02d", year, number)
		},
	}
	month = unit{
		"month", "mo",
		monthOf,
		func(n int64) Date { return dateOf(0, int(n)+1, 1) },
		func(d Date) string { return d.midnight().Format("2006-01") },
	}
	quarter = unit{
		"quarter", "q",
		func(d Date) int64 { return floorDiv(monthOf(d), 3) },
		func(n int64) Date { return dateOf(0, int(n)*3+1, 1) },
		func(d Date) string {
			return fmt.Sprintf("%04d-Q%d", d.midnight().Year(), monthOf(d)%12/3+1)
		},
	}
	year = unit{
		"year", "y",
		func(d Date) int64 { return int64(d.midnight().Year()) },
		func(n int64) Date { return dateOf(int(n), 1, 1) },
		func(d Date) string { return d.midnight().Format("2006") },
	}
)

// thursdayFirst is how many days of its week were over on 1 January 1970, a Thursday.
const thursdayFirst = 3

func monthOf(d Date) int64 {
	at := d.midnight()
	return int64(at.Year())*12 + int64(at.Month()) - 1
}

// units fires on the first day of each unit. A place is the unit's number.
type units struct {
	unit
	at     Clock
	zone   *time.Location
	covers covers
}

func (u units) next(place int64) int64 { return place + 1 }

func (u units) slot(place int64) Slot {
	due, change := dueAt(u.first(place), u.at, u.zone)
	if u.covers.sinceLast {
		last, _ := dueAt(u.first(place-1), u.at, u.zone)
		return sinceLast(u.first(place-1), u.first(place), u.at, u.at, last, due, change)
	}
	first, end := u.first(place+u.covers.shift), u.first(place+u.covers.shift+1)
	slot := between(first, end, u.zone)
	slot.Name, slot.Due, slot.ClockChange = u.name(first), due, change
	return slot
}

func (u units) fired(t time.Time) int64 { return u.of(DateOf(t, u.zone)) - placesBefore }

func (u units) covered(t time.Time) int64 { return u.fired(t) - u.covers.shift }

// placesBefore is how far before an instant a search begins: a zone may have skipped a day in between.
const placesBefore = 4

// between returns a slot of whole days: those from the first on and before the end.
func between(first, end Date, zone *time.Location) Slot {
	from, to := At(first, 0, zone), At(end, 0, zone)
	return Slot{From: from, To: to, Longer: to.Sub(from) - seconds(int64(end-first)*daySeconds)}
}

// sinceLast returns the slot from one firing to the next.
func sinceLast(last, next Date, lastClock, clock Clock, from, due time.Time, change ClockChange) Slot {
	length := int64(next-last)*daySeconds + int64(clock-lastClock)
	return Slot{
		Name: last.String() + "T" + lastClock.String(), From: from, To: due, Due: due, ClockChange: change,
		Longer: due.Sub(from) - seconds(length),
	}
}

// dueAt returns when a schedule fires that does so at a time of day: on a day that the zone skipped, as it would on the
// next.
func dueAt(date Date, clock Clock, zone *time.Location) (time.Time, ClockChange) {
	due := At(date, clock, zone)
	if wall(due, zone) != placeOf(date, clock) {
		return At(DateOf(At(date, 0, zone), zone), clock, zone), Shifted
	}
	_, end, offset := stretch(due.Unix(), zone)
	if end == unbounded {
		return due, OnTime
	}
	_, _, next := stretch(end, zone)
	if offset > next && due.Unix()+offset-next >= end {
		return due, Repeated
	}
	return due, OnTime
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
