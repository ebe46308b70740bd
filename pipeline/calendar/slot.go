package calendar

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Slot is an interval of time for which a schedule begins one run. All instants are in UTC.
type Slot struct {
	Name   string    // what it covers: 2026-11-21, 2026-W47, 2026-11, 2026-Q4, 2026, 2026-11-21T02:00 in the zone, 2026-11-21T02:00Z in UTC; with its values, if it has some: 2026-11-21/tenant=acme
	From   time.Time // the first instant that it covers
	To     time.Time // the first instant after it
	Due    time.Time // when the schedule fires for it
	Start  time.Time // when its run may begin: Due and what the jitter adds, always the same for one slot
	Except bool      // it covers nothing but days that the schedule excepts: no run is due

	Part string // its values beside time, as its name has them: tenant=acme; empty if it has none

	// Longer is by how much changes of the zone's clocks make it longer; negative if shorter. It is 0 for a slot named in
	// UTC.
	Longer      time.Duration
	ClockChange ClockChange // what changes of the zone's clocks do to its time of day
}

// ClockChange says what became of the time of day at which a slot is due.
type ClockChange string

// The words for ClockChange. Programs test them; never rename.
const (
	OnTime   ClockChange = ""
	Shifted  ClockChange = "shifted"  // clocks skip that time on that day: it is due at the first instant after the gap
	Repeated ClockChange = "repeated" // clocks show that time twice on that day: it is due at the first
)

// rule is when a schedule fires and what each slot covers. A firing has a place, a number that grows with time.
type rule interface {
	// next returns the place of the first firing after a place, which need not have one.
	next(place int64) int64
	// slot returns the slot of the firing at the place, without Start and Except. One that begins where it
	// ends does not exist.
	slot(place int64) Slot
	// fired returns a place up to which all firings were before t, and not much longer before than needed.
	fired(t time.Time) int64
	// covered returns a place up to which all slots end at or before t.
	covered(t time.Time) int64
}

// Slots and Due know the years from 1 to 9999: those that names can have.
var (
	firstInstant = time.Date(1, time.January, 2, 0, 0, 0, 0, time.UTC)
	lastInstant  = time.Date(9999, time.December, 30, 0, 0, 0, 0, time.UTC)
)

// Slots returns the slots that cover some of the time from an instant on and before another, in order. Each interval begins where the one before
// ends. Excepted ones are among them.
func (s *Schedule) Slots(from, to time.Time) iter.Seq[Slot] { return s.parted(s.intervals(from, to)) }

// parted returns the slots of intervals.
func (s *Schedule) parted(intervals iter.Seq[Slot]) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		if len(s.parts) == 0 {
			return
		}
		for slot := range intervals {
			if !s.each(slot, yield) {
				return
			}
		}
	}
}

// intervals are Slots without values.
func (s *Schedule) intervals(from, to time.Time) iter.Seq[Slot] {
	from = later(from, firstInstant)
	return func(yield func(Slot) bool) {
		for slot := range s.after(s.rule.covered(from)) {
			if !slot.From.Before(to) {
				return
			}
			if slot.To.After(from) && !yield(slot) {
				return
			}
		}
	}
}

// Due returns the slots that are due at an instant or later, in order, up to the year 9999. Excepted ones are among them.
func (s *Schedule) Due(from time.Time) iter.Seq[Slot] { return s.parted(s.firings(from)) }

// firings are Due without values.
func (s *Schedule) firings(from time.Time) iter.Seq[Slot] {
	from = later(from, firstInstant)
	return func(yield func(Slot) bool) {
		for slot := range s.after(s.rule.fired(from)) {
			if !slot.Due.Before(from) && !yield(slot) {
				return
			}
		}
	}
}

// Last returns the last slot that is due at an instant or before, and false if none is within the twenty years before.
func (s *Schedule) Last(t time.Time) (last Slot, found bool) {
	const most = 20 * 366 * 24 * time.Hour
	for back := time.Hour; !found && back < 8*most && s.Timed(); back *= 8 {
		for slot := range s.Due(t.Add(-min(back, most))) {
			if slot.Due.After(t) {
				break
			}
			last, found = slot, true
		}
	}
	return last, found
}

// after returns the slots of the firings after a place.
func (s *Schedule) after(place int64) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for place := s.rule.next(place); ; place = s.rule.next(place) {
			slot := s.rule.slot(place)
			if slot.To.After(lastInstant) || slot.Due.After(lastInstant) {
				return
			}
			if !slot.From.Before(slot.To) {
				continue
			}
			slot.Except = s.excepts(slot)
			if !yield(slot) {
				return
			}
		}
	}
}

// delay is what the jitter adds to a slot.
func (s *Schedule) delay(slot string) time.Duration {
	if s.jitter < time.Second {
		return 0
	}
	sum := sha256.Sum256([]byte(s.seed + "\x00" + slot))
	choices := uint64(s.jitter/time.Second) + 1
	return time.Duration(binary.BigEndian.Uint64(sum[:])%choices) * time.Second
}

// excepts reports whether the slot covers nothing but excepted days.
func (s *Schedule) excepts(slot Slot) bool {
	if len(s.except) == 0 {
		return false
	}
	last := DateOf(slot.To.Add(-1), s.zone)
	for day := DateOf(slot.From, s.zone); day <= last; day++ {
		if !s.except[day] && At(day, 0, s.zone).Before(At(day+1, 0, s.zone)) { // a day that the zone skipped is no day
			return false
		}
	}
	return true
}

// Zone returns the zone whose days and times of day the schedule goes by: UTC if none was given.
func (s *Schedule) Zone() *time.Location { return s.zone }

// Named returns the slot with the name. The error says which one was probably meant.
func (s *Schedule) Named(name string) (Slot, error) {
	when, values, err := SplitName(name)
	if err != nil {
		return Slot{}, err
	}
	slot := partless(firstInstant)
	switch {
	case s.Timed() && when == "" && len(values) > 0:
		err = fmt.Errorf("%.80q does not say for which time: write it as in 2026-11-21/%s", name, s.example(""))
	case s.Timed():
		slot, err = s.Interval(when)
	case when != "":
		err = fmt.Errorf("%.80q is not the name of a slot: those of the schedule have no time: write it as %s", name, s.example(""))
	}
	if err != nil {
		return Slot{}, err
	}
	part, err := s.part(name, values)
	if err != nil {
		return Slot{}, err
	}
	return s.with(slot, part), nil
}

// Interval is Named for the name of a slot without its values.
func (s *Schedule) Interval(name string) (Slot, error) {
	at, exact, err := instantOf(name, s.zone)
	if err != nil {
		for slot := range s.intervals(time.Date(2026, time.November, 21, 2, 0, 0, 0, time.UTC), lastInstant) {
			return Slot{}, fmt.Errorf("%.40q is not the name of a slot: write it as %s", name, slot.Name)
		}
	}
	around := 2 * daySeconds * time.Second
	if exact {
		around = time.Second
	}
	nearest := ""
	for slot := range s.intervals(at.Add(-around), at.Add(around)) {
		if SameName(slot.Name, name) {
			return slot, nil
		}
		if !slot.From.After(at) {
			nearest = slot.Name
		}
	}
	return Slot{}, fmt.Errorf("the schedule has no slot named %s: the one that covers it is %s", name, nearest)
}

// SameName reports whether two names are of one slot of a schedule: a moment may be written with seconds that are zero,
// or without them.
func SameName(a, b string) bool { return a == b || inMinutes(a) == inMinutes(b) }

// inMinutes is the name of a slot without seconds that are zero.
func inMinutes(name string) string {
	when, values, parted := strings.Cut(name, "/")
	if at, err := time.Parse(utcSeconds, when); err == nil && at.Second() == 0 && at.Nanosecond() == 0 {
		when = at.Format(utcMinutes)
	}
	if parted {
		when += "/" + values
	}
	return when
}

// instantOf returns about when what the name covers begins; exactly, if the name is in UTC.
func instantOf(name string, zone *time.Location) (at time.Time, exact bool, err error) {
	for _, layout := range []string{utcMinutes, utcSeconds} {
		if at, err := time.Parse(layout, name); err == nil {
			return at, true, nil
		}
	}
	for _, layout := range []string{time.DateOnly, localMinutes, "2006-01", "2006"} {
		if shown, err := time.Parse(layout, name); err == nil {
			date := Date(floorDiv(shown.Unix(), daySeconds))
			return At(date, Clock(shown.Unix()-int64(date)*daySeconds), zone), false, nil
		}
	}
	if parts := partName.FindStringSubmatch(name); parts != nil {
		year, _ := strconv.Atoi(parts[1])
		part, _ := strconv.Atoi(parts[3])
		if parts[2] == "Q" {
			return At(dateOf(year, 3*part-2, 1), 0, zone), false, nil
		}
		return At(week.first(week.of(dateOf(year, 1, 4))+int64(part)-1), 0, zone), false, nil
	}
	return at, false, fmt.Errorf("%.40q is not the name of a slot", name)
}

// partName is what weeks and quarters are named like.
var partName = regexp.MustCompile(`^([0-9]{4})-(Q|W)([1-4]|0[1-9]|[1-4][0-9]|5[0-3])$`)

// The layouts of names.
const (
	localMinutes = "2006-01-02T15:04"
	utcMinutes   = "2006-01-02T15:04Z"
	utcSeconds   = "2006-01-02T15:04:05Z"
)

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
