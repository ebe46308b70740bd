package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// forSlot returns the texts of the parameters of a run for a slot of a schedule.
func forSlot(t *testing.T, text, schedule, slot string) map[string]string {
	t.Helper()
	table, err := pipeline.LoadTimetable("x.yaml", []byte(text))
	require.NoError(t, err)
	chosen := table.Daily()
	for _, entry := range table.Schedules {
		if entry.Name == schedule {
			chosen = entry
		}
	}
	found, err := chosen.Value.Named(slot)
	require.NoError(t, err)
	return table.Params(chosen, found)
}

const slotParams = `
params:
  start: {type: timestamp, default: "${slot:start}"}
  end: {type: timestamp, default: "${slot:end}"}
  day: {type: date, default: "${slot:date}"}
  before: {type: date, default: "${slot:date-1d}"}
  after: {type: date, default: "${slot:date+30d}"}
  hour: {type: string, default: "${slot:hour}"}
  label: {type: string, default: "orders of ${slot:label}, $${slot:label}"}
  limit: {type: int, default: 100}
  plain: {type: string, default: "$${slot:date}"}
`

func TestSlotsGiveParametersTheirValues(t *testing.T) {
	text := small + slotParams + `
schedules:
  nightly: {every: day, at: "02:00", zone: Europe/Berlin, params: {limit: 200, day: 2000-01-01}}
  hourly: {every: hour, zone: Asia/Kolkata}
`
	require.Equal(t, map[string]string{
		"start": "2026-03-28T23:00:00Z", "end": "2026-03-29T22:00:00Z", "day": "2000-01-01", "before": "2026-03-28", "after": "2026-04-28",
		"hour": "00", "label": "orders of 2026-03-29, ${slot:label}", "limit": "200",
	}, forSlot(t, text, "nightly", "2026-03-29"))
	require.Equal(t, map[string]string{
		"start": "2026-11-21T20:00:00Z", "end": "2026-11-21T21:00:00Z", "day": "2026-11-22", "before": "2026-11-21", "after": "2026-12-22",
		"hour": "01", "label": "orders of 2026-11-21T20:00Z, ${slot:label}",
	}, forSlot(t, text, "hourly", "2026-11-21T20:00Z"))
	require.Equal(t, "2026-11-21T00:00:00Z", forSlot(t, small+slotParams, "", "2026-11-21")["start"], "a day in UTC without a schedule")
}

// With its parameters given, a document is loaded as one without references to slots.
func TestLoadWithTheParametersOfASlot(t *testing.T) {
	params := forSlot(t, small+slotParams, "", "2026-11-21")
	doc, err := pipeline.Load("x.yaml", []byte(small+slotParams), pipeline.Environment{Params: params})
	require.NoError(t, err)
	require.Equal(t, "00", doc.Params["hour"].Text())
	require.Equal(t, "${slot:date}", doc.Params["plain"].Text(), "a literal")
	require.Empty(t, doc.References)
}

func TestProblemsOfSlotReferences(t *testing.T) {
	withDefault := func(kind, text string) string {
		return small + "params: {day: {type: " + kind + ", default: \"" + text + "\"}}\n"
	}
	const needed = `the parameter "day" takes its value from a slot, and the run names none: give the parameter, or name a slot`
	runProblemCases(t, []problemCase{
		{"no slot", withDefault("date", "${slot:date}"), "x.yaml:4:37: params.day.default: " + needed},
		{"a value that no slot has", withDefault("string", "${slot:date}/${slot:tenant}"), `x.yaml:4:39: params.day.default: the parameter "day" takes its value from ${slot:tenant}, which no schedule of the document has: add for_each: {tenant: [VALUE]} to a schedule, or give the parameter`},
		{"a value that some slots have", withDefault("string", "${slot:tenant}") + "schedules: {daily: {every: day, for_each: {tenant: [acme]}}}\n", "x.yaml:4:39: params.day.default: " + needed},
		{"a value that the slots of one schedule have", withDefault("string", "${slot:tenant}") + "schedules: {daily: {every: day, for_each: {tenant: [acme]}}, weekly: {every: week}}\n",
			`x.yaml:5:62: schedules.weekly: gives no value to the parameter "day", whose default has ${slot:tenant}: add for_each: {tenant: [VALUE]}, or params: {day: VALUE}`},
		{"no slot, as a schedule makes no sense", withDefault("date", "${slot:date}") + "schedules: {daily: {every: day, at: \"25:00\", zone: UTC}}\n",
			`x.yaml:5:37: schedules.daily.at: "25:00" is not a time of day: write hours and minutes, as in 02:00`},
		{"an unknown reference", withDefault("date", "${slot:dat}"),
			`x.yaml:4:37: params.day.default: "${slot:dat}" is not a reference to a slot: write start, end, date, date-1d, hour or label after slot:, or a name of for_each (did you mean "date"?)`},
		{"days of an hour", withDefault("int", "${slot:hour-1d}"), `x.yaml:4:36: params.day.default: "${slot:hour-1d}" is not a reference to a slot: write start, end, date, date-1d, hour or label after slot:, or a name of for_each`},
		{"another type", withDefault("date", "${slot:start}"),
			`x.yaml:4:37: params.day.default: in slot 2026-11-21: "2026-11-21T00:00:00Z" is not a valid date: expected a date such as 2001-01-31 (FORMAT)`},
		{"another type in one schedule", withDefault("date", "${slot:label}") + "schedules: {daily: {every: day}, weekly: {every: week}, fixed: {every: month, params: {day: 2026-01-01}}}\n",
			`x.yaml:4:37: params.day.default: in slot 2026-W47 of weekly: "2026-W47" is not a valid date: expected a date such as 2001-01-31 (FORMAT)`},
		{"another reference", withDefault("string", "${slot:date} ${REGION}"), `x.yaml:4:39: params.day.default: ${REGION}: references are not replaced in values that are kept as written`},
		{"in a path", small + "description: of ${slot:date}\n", `x.yaml:4:14: description: ${slot:date}: only the default of a parameter refers to a slot: declare params: {day: {type: date, default: "${slot:date}"}} and write ${param:day}`},
		{"in an expression", small + "steps: [{name: a, filter: \"row.day == ${slot:date}\"}]\n", `x.yaml:4:27: steps[0].filter: ${slot:date}: references are not replaced in expressions: declare a parameter with such a default and write param.NAME`},
		{"in a schedule", small + "params: {day: {type: date, default: 2026-01-01}}\nschedules: {daily: {every: day, params: {day: \"${slot:date}\"}}}\n", `x.yaml:5:47: schedules.daily.params.day: ${slot:date}: references are not replaced in values that are kept as written`},
	})
}

// A default that fits the slots of one schedule and not those of another is found without a run.
func TestADefaultFitsEverySchedule(t *testing.T) {
	text := small + "params: {day: {type: date, default: \"${slot:label}\"}}\nschedules: {daily: {every: day}, weekly: {every: week}}\n"
	_, err := pipeline.LoadTimetable("x.yaml", []byte(text))
	require.ErrorContains(t, err, `x.yaml:4:37: params.day.default: in slot 2026-W47 of weekly: "2026-W47" is not a valid date`)
	_, err = pipeline.Load("x.yaml", []byte(text), pipeline.Environment{Params: map[string]string{"day": "2026-11-21"}})
	require.ErrorContains(t, err, `in slot 2026-W47 of weekly: "2026-W47" is not a valid date`)
}

func TestNeedsSlot(t *testing.T) {
	table, err := pipeline.LoadTimetable("x.yaml", []byte(small+"params: {day: {type: date, default: \"${slot:date}\"}, limit: {type: int, default: 1}}\n"))
	require.NoError(t, err)
	require.True(t, table.NeedsSlot(map[string]string{"limit": "5"}))
	require.False(t, table.NeedsSlot(map[string]string{"day": "2026-11-21"}))
}
