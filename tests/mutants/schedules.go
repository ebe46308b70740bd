package main

// schedules is mutants of how the slots of schedules get their runs.
var schedules = []mutant{
	{
		name: "a slot that is known is recorded again", never: "a slot has two runs",
		file: "workflows/slots/schedule.go", old: "if known[slot.Name] {", new: "if false {",
		pkg: "./workflows/slots", run: "^TestSlotsFallDue$",
	},
	{
		name: "slots of a stop are lost", never: "a day has no run, and no reason",
		file: "workflows/slots/schedule.go", old: "from := max(s.Since, last+1)", new: "from := max(s.Since, landscape.MicrosOf(now))",
		pkg: "./workflows/slots", run: "^TestSlotsFallDue$",
	},
	{
		name: "the pause of today counts for the days before it", never: "a slot is missed although nobody had paused it",
		file: "workflows/slots/schedule.go", old: "if history[i].At <= at {", new: "if true {",
		pkg: "./workflows/slots", run: "^TestSlotsFallDue$",
	},
	{
		name: "a run that has ended keeps its turn", never: "a slot waits for a run that is over",
		file: "workflows/slots/decide.go", old: "(o.state == unknown || o.state == open):", new: "true:",
		pkg: "./workflows/slots", run: "^TestDecide$",
	},
	{
		name: "slots of an instant are recorded in parts", never: "a tenant has no run, because the list is long",
		file: "workflows/slots/schedule.go", old: "len(due) >= mostAtOnce && landscape.MicrosOf(slot.Due) > due[len(due)-1].Due", new: "len(due) == mostAtOnce",
		pkg: "./workflows/slots", run: "^TestEachValueHasOneSlotOfEachInterval$",
	},
	{
		name: "the slot before one is that of any value", never: "a tenant waits for another one's failure",
		file: "landscape/slot.go", old: "found = calendar.PartOf(before.Name) == part", new: "found, _ = true, part",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Slots$",
	},
	{
		name: "commas in values are commas in names", never: "a value stands for two, or cannot be chosen",
		file: "pipeline/calendar/values.go", old: "c == '-' || c == '_'", new: "c == '-' || c == ',' || c == '_'",
		pkg: "./pipeline/calendar", run: "^TestEveryValueHasOneSlotInEveryInterval$",
	},
	{
		name: "a version removes what a command made", never: "somebody deploys, and the schedule that another person made fires no more",
		file: "workflows/slots/reconcile.go", old: "stays := last.Origin == landscape.FromCommand && !retired;", new: "stays := false;",
		pkg: "./cmd/waymark", run: "^TestScripts$/^schedule_create$", tier: night,
	},
	{
		name: "a retry is another run", never: "what was done is done again",
		file: "workflows/slots/decide.go", old: `if slot.Run == "" || before.over {`, new: "if true {",
		pkg: "./workflows/slots", run: "^TestWhichRunAnAttemptIs$",
	},
	{
		name: "a run that nobody began is not begun", never: "a slot runs for ever, and nobody works for it",
		file: "workflows/slots/outcome.go", old: "case missing, start.Decided != 0 && !tried(slot, o):\n\t\treturn k.outcomeOfWorkflow(ctx, slot, o)", new: "case missing, start.Decided != 0 && !tried(slot, o):\n\t\to.state = open",
		pkg: "./tests/crash", run: "^TestServeIsKilledAtMomentsOfASlot$/^slot.taken$", tier: night,
	},
	{
		name: "a slot is filled while its time goes on", never: "the rest of a day is lost, because somebody ran it by hand at noon",
		file: "activities/slot.go", old: "|| over <= now {", new: "|| over != now {",
		pkg: "./cmd/waymark", run: "^TestScripts$/^by_hand$", tier: night,
	},
	{
		name: "a slot is taken from a run that continues", never: "a slot has two runs, because somebody began one by hand",
		file: "landscape/slot.go", old: "return slot.State == SlotDone || slot.State == SlotRunning, nil", new: "return slot.Run == run, nil",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Slots$",
	},
	{
		name: "slots change without compare-and-set", never: "two processes begin two runs for one slot",
		file: "landscape/slot.go", old: "tx.Move = append(tx.Move, Move{From: *change.From, To: to})", new: "",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Slots$",
	},
	{
		name: "a backfill does what is done", never: "a day that is complete is written once more",
		file: "client/slot_requests.go", old: "var unfinished = []SlotState{SlotNone,", new: "var unfinished = []SlotState{SlotNone, SlotState(landscape.SlotDue), SlotState(landscape.SlotDone),",
		pkg: "./cmd/waymark", run: "^TestScripts$/^slots$", tier: night,
	},
	{
		name: "failures of a backfill count", never: "somebody backfills a year, and tonight's run does not start",
		file: "workflows/slots/keeper.go", old: `e.Event == string(landscape.SlotFailed) && e.Request == "" &&`, new: "e.Event == string(landscape.SlotFailed) &&",
		pkg: "./workflows/slots", run: "^TestFailuresThatPauseASchedule$",
	},
	{
		name: "a look overlooks what was told of runs", never: "a slot waits half a minute for the end of the run before it",
		file: "workflows/slots/look.go", old: "if l.told[run] {", new: "if false {",
		pkg: "./workflows/slots", run: "^TestWhatATurnIsFor$",
	},
	{
		name: "a process that was frozen still leads", never: "two processes look after all schedules and triggers",
		file: "worker/daemon/lead.go", old: "l.mine && time.Since(l.since) < leadLease", new: "l.mine",
		pkg: "./worker/daemon", run: "^TestOneProcessLeads$",
	},
}
