package pipeline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// scheduled is a document with one schedule and a parameter.
func scheduled(schedule string) string {
	return small + "params: {limit: {type: int, default: 1}}\nschedules:\n  nightly: " + schedule + "\n"
}

func TestProblemsOfSchedules(t *testing.T) {
	runProblemCases(t, []problemCase{
		{"no rule", scheduled("{zone: UTC}"), `x.yaml:6:3: schedules.nightly: the key "every" is missing`},
		{"an unknown word", scheduled("{every: dya}"), `x.yaml:6:20: schedules.nightly.every: "dya" is not one of minute, hour, day, week, month, quarter, year, nor a length of time such as 15m (did you mean "day"?)`},
		{"a cron expression without its key", scheduled("{every: 0 2 * * MON}"), `x.yaml:6:20: schedules.nightly.every: "0 2 * * MON" is not one word; a cron expression is written {cron: "0 2 * * *"}`},
		{"an unknown rule", scheduled("{every: {corn: 0 2 * * *}}"), `x.yaml:6:21: schedules.nightly.every: unknown key "corn" (did you mean "cron"?)`},
		{"two rules", scheduled("{every: {cron: 0 2 * * *, days: [mon]}}"), `x.yaml:6:13: schedules.nightly.every: has cron and days, but exactly one rule is allowed`},
		{"a cron expression", scheduled("{every: {cron: 61 2 * * *}, zone: UTC}"), `x.yaml:6:27: schedules.nightly.every.cron: ` +
			`"61 2 * * *" is not a cron expression (minute: "61" is not from 0 to 59): ` +
			`write minute, hour, day of the month, month and day of the week, as in 0 2 * * MON-FRI`},
		{"a day", scheduled("{every: {days: [mon, thurs]}}"), `x.yaml:6:33: schedules.nightly.every.days[1]: "thurs" is not a day: write mon, tue, wed, thu, fri, sat or sun`},
		{"a time of day without a zone", scheduled(`{every: day, at: "02:00"}`), `x.yaml:6:29: schedules.nightly.at: 02:00 is a time of day, which needs a zone: add zone: Europe/Berlin, or zone: UTC`},
		{"a zone with a typing error", scheduled("{every: day, zone: Europe/Berln}"), `x.yaml:6:31: schedules.nightly.zone: "Europe/Berln" is not a time zone: write one of the IANA database, such as Europe/Berlin or UTC (did you mean "Europe/Berlin"?)`},
		{"a city", scheduled("{every: day, zone: new york}"), `x.yaml:6:31: schedules.nightly.zone: "new york" is not a time zone: write one of the IANA database, such as Europe/Berlin or UTC (did you mean "America/New_York"?)`},
		{"what it covers", scheduled("{every: day, covers: yesterday}"), `x.yaml:6:33: schedules.nightly.covers: "yesterday" is not what a slot of this schedule can cover: write day before, same day, since last, or a range such as -2d..-1d`},
		{"an excepted day", scheduled("{every: day, except: [2026-12-25, 2026-13-01]}"), `x.yaml:6:46: schedules.nightly.except[1]: "2026-13-01" is not a date: write it as 2026-11-21`},
		{"a jitter", scheduled("{every: day, jitter: 1d}"), `x.yaml:6:33: schedules.nightly.jitter: must be at least 1s and at most 12h, not 1d`},
		{"a jitter longer than a slot", scheduled("{every: 5m, jitter: 10m}"), `x.yaml:6:32: schedules.nightly.jitter: must be at most 5m, not 10m`},
		{"a key of a later release", scheduled("{every: day, sla: 6h}"), `x.yaml:6:25: schedules.nightly: unknown key "sla"; known are every, at, zone, covers, except, jitter, params, for_each, overlap, after, catch_up, retry, pause_after, promise`},
		{"what to do while a run goes on", scheduled("{every: day, overlap: wait}"), `x.yaml:6:34: schedules.nightly.overlap: "wait" is not one of queue, skip, cancel, allow`},
		{"a promise for no time", scheduled("{every: day, promise: {by: dawn}}"), `x.yaml:6:39: schedules.nightly.promise.by: "dawn" is not a time of day: write hours and minutes, as in 02:00`},
		{"two promises", scheduled(`{every: day, promise: {by: "06:00", within: 4h}}`), `x.yaml:6:25: schedules.nightly.promise: has by and within, but exactly one time is allowed`},
		{"a retry without a number", scheduled("{every: day, retry: {wait: 1m}}"), `x.yaml:6:25: schedules.nightly.retry: the key "times" is missing`},
		{"an unknown parameter", scheduled("{every: day, params: {limti: 5}}"), `x.yaml:6:41: schedules.nightly.params.limti: no parameter named "limti" (did you mean "limit"?)`},
		{"a parameter of another type", scheduled("{every: day, params: {limit: five}}"), `x.yaml:6:41: schedules.nightly.params.limit: "five" is not a valid int: expected ASCII digits with an optional minus sign (FORMAT)`},
		{"a name", small + "schedules: {Nightly: {every: day}}\n", `x.yaml:4:13: schedules.Nightly: "Nightly"` + notName},
		{"several mistakes", scheduled("{every: day, zone: Mars/Base, except: [soon]}"), "" +
			"x.yaml:6:31: schedules.nightly.zone: \"Mars/Base\" is not a time zone: write one of the IANA database, such as Europe/Berlin or UTC\n" +
			"x.yaml:6:51: schedules.nightly.except[0]: \"soon\" is not a date: write it as 2026-11-21"},
	})
}

func TestAScheduleGivesEveryParameterAValue(t *testing.T) {
	text := small + "params: {day: {type: date}}\nschedules: {nightly: {every: day}}\n"
	_, err := pipeline.Load("x.yaml", []byte(text), pipeline.Environment{Params: map[string]string{"day": "2026-11-21"}})
	require.EqualError(t, err, `x.yaml:5:13: schedules.nightly: gives no value to the parameter "day", which has no default: add params: {day: VALUE}`)
}

func TestTooManySchedules(t *testing.T) {
	var schedules strings.Builder
	for i := range 101 {
		fmt.Fprintf(&schedules, "  n%d: {every: day}\n", i)
	}
	_, err := loadSmall(small + "schedules:\n" + schedules.String())
	require.EqualError(t, err, "x.yaml:4:1: schedules: has 101 schedules, but at most 100 are allowed")
}

// A timetable needs nothing of what the rest of the document refers to, nor that it is in order.
func TestLoadTimetable(t *testing.T) {
	table, err := pipeline.LoadTimetable("full.yaml", readFull(t))
	require.NoError(t, err)
	require.Equal(t, "bird-strikes", table.Pipeline)
	require.Len(t, table.Schedules, 3)
	nightly, _ := table.Schedules.Get("nightly")
	slot, err := nightly.Named("2026-11-20")
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC), slot.Due)
	require.NotEqual(t, slot.Due, slot.Start, "the jitter")

	table, err = pipeline.LoadTimetable("x.yaml", []byte("name: x\nsteps: 5\n"))
	require.NoError(t, err)
	require.Empty(t, table.Schedules)
	_, err = pipeline.LoadTimetable("x.yaml", []byte("name: x\nschedules: {nightly: {every: dya}}\n"))
	require.ErrorContains(t, err, `x.yaml:2:30: schedules.nightly.every: "dya" is not one of`)
	_, err = pipeline.LoadTimetable("x.yaml", []byte("name: *x\n"))
	require.ErrorContains(t, err, "x.yaml:1:7")
}
