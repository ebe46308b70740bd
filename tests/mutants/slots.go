package main

// slots is mutants of which slots of time a schedule has, and of what a run for one is about.
var slots = []mutant{
	{
		name: "in a gap the instant is as far before it as the time is after", never: "a slot is due on the day before, or before it is over",
		file: "pipeline/calendar/date.go", old: "return instantAt(unix)", new: "return instantAt(instant)",
		pkg: "./pipeline/calendar", run: "^TestAt$",
	},
	{
		name: "of two such times of day the second counts", never: "a slot begins an hour after the one before it ended",
		file: "pipeline/calendar/date.go", old: "case instant < end:", new: "case instant < end && (end == unbounded || instant+hourSeconds < end):",
		pkg: "./pipeline/calendar", run: "^TestAt$",
	},
	{
		name: "a day that a zone skipped has a slot", never: "a run is due for a day that never was",
		file: "pipeline/calendar/slot.go", old: "if !slot.From.Before(slot.To) {", new: "if slot.From.After(slot.To) {",
		pkg: "./pipeline/calendar", run: "^TestSlots$",
	},
	{
		name: "a schedule of weekdays covers the day before alone", never: "nobody imports what came on a Saturday",
		file: "pipeline/calendar/days.go", old: "slot := between(lastDate+Date(d.covers.shift)+1,", new: "slot := between(date+Date(d.covers.shift),",
		pkg: "./pipeline/calendar", run: "^TestSlots$",
	},
	{
		name: "a slot in UTC is named like one of a zone", never: "a name stands for two slots, of different schedules or hours",
		file: "pipeline/calendar/instants.go", old: "return instants(last, place, place, utcMinutes)",
		new: "return instants(last, place, place, localMinutes)",
		pkg: "./pipeline/calendar", run: "^TestSlots$",
	},
	{
		name: "jitter is of the slot", never: "the same slot has another name on another machine",
		file: "pipeline/calendar/values.go", old: "slot.Start = slot.Due.Add(s.delay(slot.Name))",
		new: "slot.Due = slot.Due.Add(s.delay(slot.Name))\n\tslot.Start = slot.Due",
		pkg: "./pipeline/calendar", run: "^TestJitterDelaysTheStartAlone$",
	},
	{
		name: "a slot's day is that of UTC", never: "a run for a day reads the files of the day before",
		file: "pipeline/slot.go", old: "calendar.DateOf(slot.From, zone)", new: "calendar.DateOf(slot.From, time.UTC)",
		pkg: "./pipeline", run: "^TestSlotsGiveParametersTheirValues$",
	},
	{
		name: "a run needs no slot", never: "a run writes to out/.csv, because nobody said which day it is about",
		file: "pipeline/params.go", old: "case refers:\n", new: "case false:\n",
		pkg: "./pipeline", run: "^TestProblemsOfSlotReferences$",
	},
	{
		name: "a slot comes before what the caller gives", never: "somebody repeats a day with other parameters, and gets the same",
		file: "pipeline/timetable.go", old: "maps.Copy(params, given)\n", new: "_ = maps.Copy[map[string]string, map[string]string]\n",
		pkg: "./cmd/waymark", run: "^TestScripts$/^schedule$", tier: night,
	},
}
