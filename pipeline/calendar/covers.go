package calendar

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// covers says which interval a firing's slot covers.
type covers struct {
	shift     int64 // the unit that it covers, counted from that of the firing: -1 is the one before, 0 the same
	sinceLast bool  // it covers the time from the firing before to this one
}

// coverable is what the slots of a rule can cover.
type coverable struct {
	unit   string        // day, 15m; "" if slots can only go from firing to firing
	suffix string        // in ranges, such as -2d..-1d
	length time.Duration // of a unit that is not one of the calendar; ranges are lengths of time then
}

var dayCovers = coverable{unit: day.word, suffix: day.suffix}

// maxShift is the most units that a slot may lie away from its firing.
const maxShift = 1000

// covers reads Spec.Covers. What is wrong with it is a problem.
func (b *builder) covers(can coverable) covers {
	c, err := can.parse(b.spec.Covers)
	if err != nil {
		b.problem("covers", "%s", err)
	}
	return c
}

func (can coverable) parse(text string) (covers, error) {
	switch {
	case text == "since last", text == "" && can.unit == "":
		return covers{sinceLast: true}, nil
	case can.unit == "":
		return covers{}, fmt.Errorf(
			"%.40q: the schedule fires several times a day, so slots can only go from one time to the next: write since last", text)
	case text == "", text == can.unit+" before":
		return covers{shift: -1}, nil
	case text == "same "+can.unit:
		return covers{}, nil
	}
	from, to, isRange := can.parseRange(text)
	switch {
	case !isRange:
		return covers{}, fmt.Errorf("%.40q is not what a slot of this schedule can cover: write %s before, same %[2]s, since last, or a range such as %s",
			text, can.unit, can.example())
	case to-from != 1:
		return covers{}, fmt.Errorf("%.40q is not one %s: slots neither overlap nor leave gaps, as in %s", text, can.unit, can.example())
	case from < -maxShift || from > maxShift:
		return covers{}, fmt.Errorf("%.40q is more than %d times %s away", text, maxShift, can.unit)
	}
	return covers{shift: from}, nil
}

// example is the range of the slot before the one before.
func (can coverable) example() string {
	if can.length > 0 {
		return fmt.Sprintf("-%s..-%s", shortDuration(2*can.length), shortDuration(can.length))
	}
	return fmt.Sprintf("-2%s..-1%[1]s", can.suffix)
}

// parseRange reads a range, in units from that of the firing on. It is none if it is not made of whole ones.
func (can coverable) parseRange(text string) (from, to int64, is bool) {
	first, second, is := strings.Cut(text, "..")
	if !is {
		return 0, 0, false
	}
	from, firstIs := can.parseShift(first)
	to, secondIs := can.parseShift(second)
	return from, to, firstIs && secondIs
}

var shiftText = regexp.MustCompile(`^(-?[0-9]{1,4})([a-z]+)$`)

func (can coverable) parseShift(text string) (units int64, is bool) {
	if can.length > 0 {
		d, err := time.ParseDuration(text)
		return int64(d / can.length), err == nil && d%can.length == 0
	}
	parts := shiftText.FindStringSubmatch(text)
	if parts == nil || parts[2] != can.suffix {
		return 0, false
	}
	units, err := strconv.ParseInt(parts[1], 10, 64)
	return units, err == nil
}
