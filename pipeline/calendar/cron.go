package calendar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cron is an expression of crontab(5). The bits of a field are the values that it has.
type cron struct {
	minute, hour, day, month, weekday uint64

	// either says that days of the month and days of the week are both restricted, and therefore alternatives.
	either bool
}

// cronField is what a field of an expression may have.
type cronField struct {
	what        string
	least, most int
	names       []string // of the values from the least on
}

// cronFields are the five fields that crontab(5) has, in their order.
var cronFields = [5]cronField{
	{what: "minute", most: 59},
	{what: "hour", most: 23},
	{what: "day of the month", least: 1, most: 31},
	{what: "month", least: 1, most: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{what: "day of the week", most: 6, names: strings.Fields("sun mon tue wed thu fri sat")},
}

// everyHour is an hour that is not restricted.
const everyHour = 1<<24 - 1

// cronRule returns the rule of a cron expression. One that fires in every hour is about instants, any other one about
// times of day: it fires at each of them once a day, whatever clocks do.
func (b *builder) cronRule() rule {
	zone := b.schedule.zone
	if b.spec.At != "" {
		b.problem("at", "a cron expression has its own time of day: leave at out")
	}
	fields, err := parseCron(b.spec.Cron)
	if err != nil {
		b.problem("every.cron", "%s", err)
		return nil
	}
	if fields.hour == everyHour {
		b.covers(coverable{})
		return minutes{fields.fires, fields.minute, zone}
	}
	var clocks []Clock
	for clock := Clock(0); clock < daySeconds; clock += minuteSeconds {
		if fields.hour>>(clock/hourSeconds)&1 == 1 && fields.minute>>(clock%hourSeconds/minuteSeconds)&1 == 1 {
			clocks = append(clocks, clock)
		}
	}
	b.needZone("every.cron", clocks[0].String())
	if len(clocks) == 1 {
		return days{fields.fires, clocks, zone, b.covers(dayCovers)}
	}
	return days{fields.fires, clocks, zone, b.covers(coverable{})}
}

// parseCron reads an expression that fires on some day.
func parseCron(text string) (c cron, err error) {
	if strings.Contains(text, "=") {
		return c, fmt.Errorf("%.40q: write the zone as zone: Europe/Berlin, beside every", text)
	}
	if err := c.read(strings.Fields(text)); err != nil {
		return c, fmt.Errorf("%.40q is not a cron expression (%w): write minute, hour, day of the month, month and "+
			"day of the week, as in 0 2 * * MON-FRI", text, err)
	}
	for date := dateOf(2000, 1, 1); date < dateOf(2009, 1, 1); date++ {
		if c.fires(date) {
			return c, nil
		}
	}
	return c, fmt.Errorf("%.40q never fires: no month has that day", text)
}

func (c *cron) read(texts []string) (err error) {
	if len(texts) != len(cronFields) {
		return fmt.Errorf("it has %d fields, and not %d", len(texts), len(cronFields))
	}
	var free [len(cronFields)]bool
	for i, bits := range []*uint64{&c.minute, &c.hour, &c.day, &c.month, &c.weekday} {
		if *bits, free[i], err = cronFields[i].read(texts[i]); err != nil {
			return err
		}
	}
	c.either = !free[2] && !free[4]
	return nil
}

// read returns the values of a field: parts with commas between them, each a value, FIRST-LAST or a star, or one of
// these with /STEP. FIRST/STEP ends with the largest value. free reports whether a star without a step is among them.
func (f cronField) read(text string) (bits uint64, free bool, err error) {
	for part := range strings.SplitSeq(text, ",") {
		values, every, stepped := strings.Cut(part, "/")
		from, to, step, all := f.least, f.most, uint64(1), values == "*" || values == "?"
		if !all {
			first, last, ranged := strings.Cut(values, "-")
			from = f.value(first)
			if ranged {
				to = f.value(last)
			} else if !stepped {
				to = from
			}
		}
		if stepped {
			step, err = strconv.ParseUint(every, 10, 16)
		}
		if err != nil || step == 0 || from < f.least || to > f.most || from > to {
			return 0, false, fmt.Errorf("%s: %q is not from %s", f.what, part, f.ends())
		}
		for value := from; value <= to; value += int(step) { //nolint:gosec // of 16 bits
			bits |= 1 << value
		}
		free = free || all && step == 1
	}
	return bits, free, nil
}

// value returns the value of a number or a name; -1 if it is neither.
func (f cronField) value(text string) int {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.least + i
	}
	if n, err := strconv.ParseUint(text, 10, 16); err == nil {
		return int(n) //nolint:gosec // of 16 bits
	}
	return -1
}

// ends returns the least and the largest value, as numbers and as names.
func (f cronField) ends() string {
	if f.names == nil {
		return fmt.Sprintf("%d to %d", f.least, f.most)
	}
	return fmt.Sprintf("%d to %d, or %s to %s", f.least, f.most, f.names[0], f.names[len(f.names)-1])
}

// fires reports whether the expression fires on the day.
func (c cron) fires(d Date) bool {
	at := d.midnight()
	if c.month>>at.Month()&1 == 0 {
		return false
	}
	ofMonth, ofWeek := c.day>>at.Day()&1 == 1, c.weekday>>at.Weekday()&1 == 1
	if c.either {
		return ofMonth || ofWeek
	}
	return ofMonth && ofWeek
}
