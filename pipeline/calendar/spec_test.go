package calendar_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/calendar"
)

// notCron returns the problem of a text that is not a cron expression, with the reason.
func notCron(text, why string) string {
	return fmt.Sprintf("every.cron: %q is not a cron expression (%s): write minute, hour, day of the month, month and "+
		"day of the week, as in 0 2 * * MON-FRI", text, why)
}

func TestProblemsNameTheField(t *testing.T) {
	for _, c := range []struct {
		spec calendar.Spec
		want string
	}{
		{calendar.Spec{Every: "fortnight"}, `every: "fortnight" is not one of minute, hour, day, week, month, quarter, year, nor a length of time such as 15m`},
		{calendar.Spec{Every: "-15m"}, `every: "-15m" is not one of minute, hour, day, week, month, quarter, year, nor a length of time such as 15m`},
		{calendar.Spec{Every: "24h"}, `every: 24h is not a length of whole seconds below a day: write day for a day`},
		{calendar.Spec{Every: "1500ms"}, `every: 1500ms is not a length of whole seconds below a day: write day for a day`},
		{calendar.Spec{Cron: "0 2 * *"}, notCron("0 2 * *", `it has 4 fields, and not 5`)},
		{calendar.Spec{Cron: "@daily"}, notCron("@daily", `it has 1 fields, and not 5`)},
		{calendar.Spec{Cron: "0 , * * *"}, notCron("0 , * * *", `hour: "" is not from 0 to 23`)},
		{calendar.Spec{Cron: "0-60 * * * *"}, notCron("0-60 * * * *", `minute: "0-60" is not from 0 to 59`)},
		{calendar.Spec{Cron: "0 2 0 * *"}, notCron("0 2 0 * *", `day of the month: "0" is not from 1 to 31`)},
		{calendar.Spec{Cron: "0 2 * 5-4 *"}, notCron("0 2 * 5-4 *", `month: "5-4" is not from 1 to 12, or jan to dec`)},
		{calendar.Spec{Cron: "0 2 * * */0"}, notCron("0 2 * * */0", `day of the week: "*/0" is not from 0 to 6, or sun to sat`)},
		{calendar.Spec{Cron: "TZ=Europe/Berlin"}, `every.cron: "TZ=Europe/Berlin": write the zone as zone: Europe/Berlin, beside every`},
		{calendar.Spec{Cron: "0 2 30 2 *", Zone: berlin}, `every.cron: "0 2 30 2 *" never fires: no month has that day`},
		{calendar.Spec{Cron: "0 2 * * *"}, `every.cron: 02:00 is a time of day, which needs a zone: add zone: Europe/Berlin, or zone: UTC`},
		{calendar.Spec{Cron: "0 2 * * *", Zone: berlin, At: "02:00"}, `at: a cron expression has its own time of day: leave at out`},
		{calendar.Spec{Days: []string{"mon", "tues"}}, `every.days[1]: "tues" is not a day: write mon, tue, wed, thu, fri, sat or sun`},
		{calendar.Spec{Every: "day", At: "2 am", Zone: berlin}, `at: "2 am" is not a time of day: write hours and minutes, as in 02:00`},
		{calendar.Spec{Every: "day", At: "02:00"}, `at: 02:00 is a time of day, which needs a zone: add zone: Europe/Berlin, or zone: UTC`},
		{calendar.Spec{Every: "hour", At: "02:00", Zone: berlin}, `at: every hour has no time of day: leave at out, or write every: day`},
		{calendar.Spec{Every: "day", Zone: "Berlin"}, `zone: "Berlin" is not a time zone: write one of the IANA database, such as Europe/Berlin or UTC`},
		{calendar.Spec{Every: "day", Zone: "Local"}, `zone: "Local" is not a time zone: write one of the IANA database, such as Europe/Berlin or UTC`},
		{calendar.Spec{Every: "day", Zone: "../etc/passwd"}, `zone: "../etc/passwd" is not a time zone: write one of the IANA database, such as Europe/Berlin or UTC`},
		{calendar.Spec{Every: "day", Covers: "week before"}, `covers: "week before" is not what a slot of this schedule can cover: write day before, same day, since last, or a range such as -2d..-1d`},
		{calendar.Spec{Every: "90m", Covers: "-1h..0h"}, `covers: "-1h..0h" is not what a slot of this schedule can cover: write 90m before, same 90m, since last, or a range such as -3h..-1h30m`},
		{calendar.Spec{Every: "month", Covers: "-2d..-1d"}, `covers: "-2d..-1d" is not what a slot of this schedule can cover: write month before, same month, since last, or a range such as -2mo..-1mo`},
		{calendar.Spec{Every: "day", Covers: "-7d..0d"}, `covers: "-7d..0d" is not one day: slots neither overlap nor leave gaps, as in -2d..-1d`},
		{calendar.Spec{Every: "day", Covers: "-1001d..-1000d"}, `covers: "-1001d..-1000d" is more than 1000 times day away`},
		{calendar.Spec{Cron: "0 2,14 * * *", Zone: berlin, Covers: "day before"},
			`covers: "day before": the schedule fires several times a day, so slots can only go from one time to the next: write since last`},
		{calendar.Spec{Every: "month", Except: []string{"2026-12-25"}}, `except: names days, and the slots of this schedule are longer than days: leave it out`},
		{calendar.Spec{Every: "day", Except: []string{"2026-12-25", "Christmas"}}, `except[1]: "Christmas" is not a date: write it as 2026-11-21`},
		{calendar.Spec{Every: "15m", Jitter: 20 * time.Minute}, `jitter: must be at most 15m, not 20m`},
		{calendar.Spec{Every: "day", Jitter: 13 * time.Hour}, `jitter: must be at most 12h, not 13h`},
		{calendar.Spec{Every: "dya", At: "x", Zone: "y", Except: []string{"z"}, Jitter: -1}, "every: \"dya\" is not one of minute, hour, day, week, month, quarter, year, nor a length of time such as 15m\n" +
			"at: \"x\" is not a time of day: write hours and minutes, as in 02:00\n" +
			"zone: \"y\" is not a time zone: write one of the IANA database, such as Europe/Berlin or UTC\n" +
			"except[0]: \"z\" is not a date: write it as 2026-11-21\njitter: must be at most 12h, not -1ns"},
	} {
		_, err := calendar.New(c.spec)
		require.EqualError(t, err, c.want)
		problems, ok := errors.AsType[calendar.Problems](err)
		require.True(t, ok)
		field, _, _ := strings.Cut(c.want, ": ")
		require.Equal(t, field, problems[0].Field)
	}
}
