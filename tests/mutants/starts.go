package main

// starts is mutants of how a run begins, and of what is recorded if it does not.
var starts = []mutant{
	{
		name: "whatever is there is what was published last", never: "nobody learns that an output was changed after the run",
		file: "audit/presence.go", old: "There: wrong == nil, Known", new: "There: true, Known",
		pkg: "./cmd/waymark", run: "^TestScripts$/^outputs$",
	},
	{
		name: "an older output is not looked for", never: "an output that somebody put back counts as nobody's",
		file: "client/outputs.go", old: "for i, record := range records {\n\t\tif looked", new: "for i, record := range records[:1] {\n\t\tif looked",
		pkg: "./cmd/waymark", run: "^TestScripts$/^outputs$",
	},
	{
		name: "a start is not recorded before its run", never: "nobody knows that somebody asked for a run",
		file: "activities/open.go", old: "\t\tbegun, err = a.accept(ctx, in, from)\n", new: "",
		pkg: "./tests", run: "^TestADeployedPipelineIsRunByItsName$",
	},
	{
		name: "a refused start is not recorded", never: "there is no run and nobody knows why",
		file: "activities/finish.go", old: "a.refuse(ctx, *in.Begin, in.Status, in.Refusal, in.Reason, a.log.CallOff)", new: "Labels{}, error(nil)",
		pkg: "./tests", run: "^TestAnInputThatIsRefusedLeavesItsReason$",
	},
	{
		name: "an invalid input is not recorded", never: "there is no run and nobody knows why",
		file: "activities/start.go", old: "\treturn labels, store(ctx, start)\n", new: "\treturn labels, nil\n",
		pkg: "./tests", run: "^TestAnInputThatIsRefusedLeavesItsReason$",
	},
	{
		name: "a start stays open when its run begins", never: "a run has begun, and its start says that it has not",
		file: "landscape/run.go", old: "Move: append(start, permit.turns.Move...)", new: "Move: append(start[:0], permit.turns.Move...)",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Starts$",
	},
	{
		name: "a start after a refused one has its place", never: "the reason of a refused start is lost",
		file: "landscape/start.go", old: "s.Seq = last.Seq + 1", new: "s.Seq = last.Seq",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Starts$",
	},
	{
		name: "a terminated start stays open", never: "a start waits for ever for a workflow that is gone",
		file: "workflows/recovery/abandoned.go", old: "\terr = a.Log.CallOff(ctx, start)\n", new: "\terr = nil\n",
		pkg: "./tests", run: "^TestAStartWhoseWorkflowIsTerminatedIsRefused$",
	},
	{
		name: "a key is one for all parameters", never: "a service gets the result of another question",
		file: "workflows/key.go", old: `case found.Differs != "":`, new: "case false:",
		pkg: "./tests", run: "^TestAKeyMeansOneRun$",
	},
	{
		name: "the second start with a key fails", never: "a service that asks a second time gets a failure in the place of the result",
		file: "workflows/key.go", old: "if !temporal.IsWorkflowExecutionAlreadyStartedError(err) {", new: "if true {",
		pkg: "./tests", run: "^TestAKeyMeansOneRun$",
	},
	{
		name: "a run of a schedule does not know its slot", never: "a backfill writes one day again and again",
		file: "pipeline/calendar/slot.go", old: "if slot.Due.After(t) {", new: "if slot.Due.After(t) && found {",
		pkg: "./pipeline/calendar", run: "^TestLast$",
	},
}
