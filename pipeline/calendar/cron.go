package calendar

import (
	"fmt"
	"strings"

	"github.com/robfig/cron/v3"
)

// cronFields reads the five fields that crontab(5) has, and none of the words that stand for them.
var cronFields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// cronStar is the bit that the library sets in a field that is not restricted.
const cronStar = 1 << 63

const (
	everyHour   = 1<<24 - 1
	everyMinute = 1<<60 - 1
)

// cronRule returns the rule of a cron expression. One that rings in every hour is about instants, any other one about times of day: it
// rings at each of them once a day, whatever clocks do. The library only reads the expression.
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
	matches := func(d Date) bool { return rings(fields, d) }
	if fields.Hour&everyHour == everyHour {
		b.covers(coverable{})
		return minutes{matches, fields.Minute & everyMinute, zone}
	}
	var clocks []Clock
	for clock := Clock(0); clock < daySeconds; clock += minuteSeconds {
		if fields.Hour>>(clock/hourSeconds)&1 == 1 && fields.Minute>>(clock%hourSeconds/minuteSeconds)&1 == 1 {
			clocks = append(clocks, clock)
		}
	}
	b.needZone("every.cron", clocks[0].String())
	if len(clocks) == 1 {
		return days{matches, clocks, zone, b.covers(dayCovers)}
	}
	return days{matches, clocks, zone, b.covers(coverable{})}
}

// parseCron reads an expression that rings on some day.
func parseCron(text string) (*cron.SpecSchedule, error) {
	if strings.Contains(text, "=") {
		return nil, fmt.Errorf("%.40q: write the zone as zone: Europe/Berlin, beside every", text)
	}
	parsed, err := cronFields.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%.40q is not a cron expression (%w): write minute, hour, day of the month, month and day of the week, as in 0 2 * * MON-FRI", text, err)
	}
	fields, _ := parsed.(*cron.SpecSchedule)
	for date := dateOf(2000, 1, 1); date < dateOf(2009, 1, 1); date++ {
		if rings(fields, date) {
			return fields, nil
		}
	}
	return nil, fmt.Errorf("%.40q never rings: no month has that day", text)
}

// rings reports whether the expression rings on the day. Days of the month and of the week that are both restricted are alternatives, as
// in crontab(5).
func rings(fields *cron.SpecSchedule, d Date) bool {
	at := d.midnight()
	if fields.Month>>at.Month()&1 == 0 {
		return false
	}
	ofMonth, ofWeek := fields.Dom>>at.Day()&1 == 1, fields.Dow>>at.Weekday()&1 == 1
	if fields.Dom&cronStar != 0 || fields.Dow&cronStar != 0 {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}
