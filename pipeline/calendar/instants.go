package calendar

import "time"

// steps fires whenever a length of time has passed, counted from 1 January 1970 in UTC. A place is the number of
// lengths.
type steps struct {
	length int64 // in seconds
	covers covers
}

func (s steps) next(place int64) int64 { return place + 1 }

func (s steps) slot(place int64) Slot {
	from := (place + s.covers.shift) * s.length
	layout := utcMinutes
	if s.length%minuteSeconds != 0 {
		layout = utcSeconds
	}
	return instants(from, from+s.length, place*s.length, layout)
}

func (s steps) fired(t time.Time) int64 { return floorDiv(t.Unix(), s.length) - placesBefore }

func (s steps) covered(t time.Time) int64 { return s.fired(t) - s.covers.shift }

// instants returns a slot that is named in UTC.
func instants(from, to, due int64, layout string) Slot {
	return Slot{Name: instantAt(from).Format(layout), From: instantAt(from), To: instantAt(to), Due: instantAt(due)}
}

// minutes fires in every hour of the days that match, when clocks show one of the minutes: in an hour that is
// repeated, twice. A place is the instant, in seconds.
type minutes struct {
	matches func(Date) bool
	minutes uint64 // bit n for minute n
	zone    *time.Location
}

// find returns the first instant that matches, from one on and, with a step of -1, backwards. It looks at each stretch of time in which
// the zone's clocks run evenly by itself.
func (m minutes) find(unix, step int64) int64 {
	for silent := 0; silent < maxSilentDays; {
		shown := wall(time.Unix(unix, 0), m.zone)
		date, clock := split(shown)
		switch {
		case !m.matches(date):
			silent++
			unix = m.move(unix, step, int64(clock), daySeconds)
		case clock%minuteSeconds == 0 && m.minutes>>(clock%hourSeconds/minuteSeconds)&1 == 1:
			return unix
		default:
			unix = m.move(unix, step, int64(clock)%minuteSeconds, minuteSeconds)
		}
	}
	return unix
}

// move returns the instant at which the next day or minute, of such a length, begins; backwards, the last one before it, or its
// beginning if that is not where the search stands. It stops where clocks change. past is how much of the day or minute is over.
func (m minutes) move(unix, step, past, length int64) int64 {
	start, end, _ := stretch(unix, m.zone)
	switch {
	case step > 0:
		return min(unix+length-past, end)
	case length == minuteSeconds && past > 0:
		return max(unix-past, start-1)
	default:
		return max(unix-past-1, start-1)
	}
}

func (m minutes) next(place int64) int64 { return m.find(place+1, 1) }

func (m minutes) slot(place int64) Slot {
	last := m.find(place-1, -1)
	return instants(last, place, place, utcMinutes)
}

func (m minutes) fired(t time.Time) int64 { return t.Unix() - 1 }

func (m minutes) covered(t time.Time) int64 { return t.Unix() - 1 }
