package calendar

import (
	"slices"
	"time"
)

// days fires at times of day, on the days that match. A place is what clocks show then, in seconds.
type days struct {
	matches func(Date) bool
	clocks  []Clock // ascending; with more than one, slots go from firing to firing
	zone    *time.Location
	covers  covers
}

// maxSilentDays is how far the search for the next day goes. Between two 29 February are up to 8 years.
const maxSilentDays = 20 * 366

// find returns the first day that matches and that the zone did not skip, from a day on in steps of 1 or -1.
func (d days) find(date Date, step Date) Date {
	for range maxSilentDays {
		if d.matches(date) && DateOf(At(date, 0, d.zone), d.zone) == date {
			return date
		}
		date += step
	}
	return date
}

// split returns the day and the time of day of a place.
func split(place int64) (Date, Clock) {
	date := floorDiv(place, daySeconds)
	return Date(date), Clock(place - date*daySeconds)
}

func placeOf(date Date, clock Clock) int64 { return int64(date)*daySeconds + int64(clock) }

func (d days) next(place int64) int64 {
	date, clock := split(place)
	if i, _ := slices.BinarySearch(d.clocks, clock+1); i < len(d.clocks) && d.find(date, 1) == date {
		return placeOf(date, d.clocks[i])
	}
	return placeOf(d.find(date+1, 1), d.clocks[0])
}

// previous returns the place of the firing before the one at a place.
func (d days) previous(place int64) int64 {
	date, clock := split(place)
	if i, _ := slices.BinarySearch(d.clocks, clock); i > 0 {
		return placeOf(date, d.clocks[i-1])
	}
	return placeOf(d.find(date-1, -1), d.clocks[len(d.clocks)-1])
}

func (d days) slot(place int64) Slot {
	date, clock := split(place)
	due, change := dueAt(date, clock, d.zone)
	lastDate, lastClock := split(d.previous(place))
	if d.covers.sinceLast {
		last, _ := dueAt(lastDate, lastClock, d.zone)
		return sinceLast(lastDate, date, lastClock, clock, last, due, change)
	}
	slot := between(lastDate+Date(d.covers.shift)+1, date+Date(d.covers.shift)+1, d.zone)
	slot.Name, slot.Due, slot.ClockChange = DateOf(slot.From, d.zone).String(), due, change
	return slot
}

func (d days) fired(t time.Time) int64 { return placeOf(DateOf(t, d.zone)-placesBefore, 0) }

func (d days) covered(t time.Time) int64 { return d.fired(t) - d.covers.shift*daySeconds }
