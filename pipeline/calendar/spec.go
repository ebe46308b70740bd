// Package calendar says which slots of time a schedule has, and when it fires for each: in any zone, whatever its
// clocks do. It is pure: it reads nothing but the zones that Go knows, and no clock.
package calendar

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the zones, for machines that have none
)

// Spec is a schedule as a document writes it. Of Every, Cron and Days one is given.
type Spec struct {
	Every   string        // minute, hour, day, week, month, quarter or year, or a length of time such as 15m
	Cron    string        // five fields, such as "0 2 * * MON-FRI"
	Days    []string      // mon, tue, wed, thu, fri, sat, sun
	At      string        // the time of day, such as 02:00; default 00:00
	Zone    string        // of the IANA database, such as Europe/Berlin; UTC if it is empty
	Covers  string        // "UNIT before" (default), "same UNIT", "since last", a range such as -2d..-1d, or "nothing" for slots without time
	Except  []string      // days for which no run is due, such as 2026-12-25
	Jitter  time.Duration // the most that a start comes after the firing, up to MaxJitter
	ForEach []Dimension   // what there are slots for beside time
	Seed    string        // what the jitter of a slot depends on, beside the slot: the schedule's name
}

// MaxJitter is the most that a start may come after it is due.
const MaxJitter = 12 * time.Hour

// Problem is one mistake in a Spec.
type Problem struct {
	Field   string // as documents write it: every, every.cron, every.days[1], at, zone, covers, except[0], jitter, for_each.tenant[1]
	Message string // one line: names what is wrong, and the cure
}

// Problems are all mistakes of a Spec, in the order of its fields. There is at least one.
type Problems []Problem

// Error returns one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Field + ": " + problem.Message
	}
	return strings.Join(lines, "\n")
}

// Schedule is a sequence of slots without beginning and end. It is safe for concurrent use.
type Schedule struct {
	rule   rule
	zone   *time.Location
	except map[Date]bool
	jitter time.Duration
	seed   string

	dimensions []Dimension // by name
	parts      []string    // their combinations, as names of slots have them; one that is empty without dimensions
}

// New returns the schedule that the Spec describes. The error is Problems, all that could be found.
func New(spec Spec) (*Schedule, error) {
	b := builder{spec: spec}
	b.zone()
	at := b.at()
	b.schedule.rule = b.rule(at)
	b.except()
	b.jitter()
	b.dimensions()
	if len(b.problems) > 0 {
		slices.SortStableFunc(b.problems, func(a, b Problem) int { return fieldOrder(a.Field) - fieldOrder(b.Field) })
		return nil, b.problems
	}
	b.schedule.seed = spec.Seed
	return &b.schedule, nil
}

// fieldOrder is where the field stands in Spec.
func fieldOrder(field string) int {
	return slices.IndexFunc([]string{"every", "at", "zone", "covers", "except", "jitter", "for_each"}, func(name string) bool {
		return strings.HasPrefix(field, name)
	})
}

// builder makes one Schedule.
type builder struct {
	spec     Spec
	schedule Schedule
	problems Problems

	noDays string // why the schedule has no slot for a day, "" if it may have one
}

func (b *builder) problem(field, format string, args ...any) {
	b.problems = append(b.problems, Problem{field, fmt.Sprintf(format, args...)})
}

func (b *builder) zone() {
	b.schedule.zone = time.UTC
	if b.spec.Zone == "" {
		return
	}
	zone, err := time.LoadLocation(b.spec.Zone)
	if err != nil || b.spec.Zone == "Local" {
		b.problem("zone", "%.40q is not a time zone: write one of the IANA database, such as Europe/Berlin or UTC", b.spec.Zone)
		return
	}
	b.schedule.zone = zone
}

// at reads the time of day. One that is given needs a zone, as nobody would guess UTC.
func (b *builder) at() Clock {
	if b.spec.At == "" {
		return 0
	}
	clock, err := ParseClock(b.spec.At)
	if err != nil {
		b.problem("at", "%s", err)
	} else {
		b.needZone("at", clock.String())
	}
	return clock
}

func (b *builder) needZone(field, what string) {
	if b.spec.Zone == "" {
		b.problem(field, "%s is a time of day, which needs a zone: add zone: Europe/Berlin, or zone: UTC", what)
	}
}

var calendarUnits = []unit{day, week, month, quarter, year}

// rule returns the rule, or nil after a problem with what it is made of.
func (b *builder) rule(at Clock) rule {
	zone := b.schedule.zone
	switch {
	case b.spec.Covers == nothing:
		return b.withoutTime()
	case b.spec.Cron != "":
		return b.cronRule()
	case len(b.spec.Days) > 0:
		matches := b.weekdays()
		return days{matches, []Clock{at}, zone, b.covers(dayCovers)}
	}
	for _, u := range calendarUnits {
		if u.word == b.spec.Every {
			if u.word != day.word {
				b.noDays = "are longer than days"
			}
			return units{u, at, zone, b.covers(coverable{unit: u.word, suffix: u.suffix})}
		}
	}
	length, err := parseLength(b.spec.Every)
	if err != nil {
		b.problem("every", "%s", err)
		return nil
	}
	if b.spec.At != "" {
		b.problem("at", "every %s has no time of day: leave at out, or write every: day", b.spec.Every)
	}
	return steps{int64(length / time.Second), b.covers(coverable{unit: b.spec.Every, length: length})}
}

var weekdayWords = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} // by time.Weekday

func (b *builder) weekdays() func(Date) bool {
	var on [7]bool
	for i, word := range b.spec.Days {
		weekday := slices.Index(weekdayWords, word)
		if weekday < 0 {
			b.problem(fmt.Sprintf("every.days[%d]", i), "%.40q is not a day: write mon, tue, wed, thu, fri, sat or sun", word)
			continue
		}
		on[weekday] = true
	}
	return func(d Date) bool { return on[d.Weekday()] }
}

// parseLength reads the length of a slot: minute, hour, or whole seconds shorter than a day.
func parseLength(text string) (time.Duration, error) {
	switch text {
	case "minute":
		return time.Minute, nil
	case "hour":
		return time.Hour, nil
	}
	length, err := time.ParseDuration(text)
	switch {
	case err != nil || strings.ContainsAny(text, "+-"):
		return 0, fmt.Errorf("%.40q is not one of minute, hour, day, week, month, quarter, year, nor a length of time such as 15m", text)
	case length < time.Second || length >= 24*time.Hour || length%time.Second != 0:
		return 0, fmt.Errorf("%s is not a length of whole seconds below a day: write day for a day", text)
	}
	return length, nil
}

func (b *builder) except() {
	if len(b.spec.Except) > 0 && b.noDays != "" {
		b.problem("except", "names days, and the slots of this schedule %s: leave it out", b.noDays)
		return
	}
	b.schedule.except = map[Date]bool{}
	for i, text := range b.spec.Except {
		date, err := ParseDate(text)
		if err != nil {
			b.problem(fmt.Sprintf("except[%d]", i), "%s", err)
		}
		b.schedule.except[date] = true
	}
}

func (b *builder) jitter() {
	b.schedule.jitter = b.spec.Jitter
	most := MaxJitter
	if every, ok := b.schedule.rule.(steps); ok {
		most = min(most, seconds(every.length))
	}
	if b.spec.Jitter < 0 || b.spec.Jitter > most {
		b.problem("jitter", "must be at most %s, not %s", shortDuration(most), shortDuration(b.spec.Jitter))
	}
}

// shortDuration writes a length of time without the units of which it has none: 15m, not 15m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
