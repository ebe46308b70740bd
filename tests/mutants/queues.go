package main

// queues is mutants of how runs wait for places.
var queues = []mutant{
	{
		name: "no order is taken while the run is opened", never: "an order that comes with the start is unknown",
		file: "workflows/run.go", old: "in.handler.listen(ctx); err != nil", new: "error(nil); err != nil",
		pkg: "./workflows", run: "^TestAnOrderThatComesBeforeTheRunIsOpenWaits$",
	},
	{
		name: "who joined a run does not hear that it ended", never: "a caller has its result up to a minute late",
		file: "workflows/joiner.go", old: "return told.Len() > 0", new: "return false",
		pkg: "./workflows", run: "^TestJoinerIsToldOfTheEnd$",
	},
	{
		name: "a decision about places moves no gate", never: "two runs that begin side by side take the same place",
		file: "landscape/admission.go", old: "To: Gate{gate.Gate, gate.Turn + 1}})", new: "To: gate})[:0]",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Admission$",
	},
	{
		name: "the end of a run moves no gate", never: "a run waits for a place that is free since before it began to wait",
		file: "landscape/admission.go", old: "\ttx, _, err := l.turns(ctx, terms.Wants)\n\treturn tx, err\n", new: "\treturn Tx{}, nil\n",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Admission$",
	},
	{
		name: "a target that somebody wanted passes for one that nobody did", never: "two runs write the same output at the same time",
		file: "landscape/admission.go", old: "fresh = fresh && !there && want.IsTarget()", new: "_, fresh = there, fresh && want.IsTarget()",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Admission$",
	},
	{
		name: "a resumed run does not ask for its places", never: "more runs have a place than there are",
		file: "landscape/admission.go", old: "err == nil && d.Verdict != admit.Begin", new: "false && d.Verdict != admit.Begin",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Admission$",
	},
	{
		name: "the end of a run wakes nobody", never: "runs wait for minutes while there are places",
		file: "activities/finish.go", old: "\tif err == nil {\n\t\ta.release(ctx, in.Run)\n\t}\n\tresult :=", new: "\t\tresult :=",
		pkg: "./tests", run: "^TestARunWaitsForItsTurn$",
	},
	{
		name: "a target has places for two", never: "two runs write the same output at the same time",
		file: "landscape/admit/admit.go", old: "\tcase w.IsTarget():\n\t\treturn 1\n", new: "\tcase w.IsTarget():\n\t\treturn 2\n",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Admission$",
	},
	{
		name: "targets are not asked for", never: "two runs write the same output at the same time",
		file: "activities/admit.go", old: "targets = append(targets, target)", new: "_ = target",
		pkg: "./tests", run: "^TestARunWaitsForItsTarget$",
	},
	{
		name: "a target is what its path says", never: "two runs write the same output by ways that symbolic links make different",
		file: "plugin/file/sink_file.go", old: "a.Root.real(target.Path)", new: "a.Root.Abs(target.Path)",
		pkg: "./plugin/file", run: "^TestExclusive$",
	},
	{
		name: "tables are written side by side", never: "which rows stay in a table depends on which run was faster",
		file: "plugin/postgres/sink.go", old: "\tif s.spec.Upserts() {\n\t\treturn s.Location()\n", new: "\tif !s.spec.Upserts() {\n\t\treturn s.Location()\n",
		pkg: "./plugin/postgres", run: "^TestExclusive$",
	},
	{
		name: "a terminated run wakes nobody", never: "runs wait for minutes while there are places",
		file: "workflows/recovery/abandoned.go", old: "return true, a.release(ctx, run.ID)", new: "return true, nil",
		pkg: "./tests", run: "^TestATerminatedRunLetsGoOfItsPlace$",
	},
	{
		name: "a run waits for a server that is gone", never: "a command hangs until somebody serves, and nobody does",
		file: "activities/unserved.go", old: "\t\tif unserved {\n", new: "\t\tif unserved && len(left) < 0 {\n",
		pkg: "./tests", run: "^TestNobodyWaitsForADeadServer$", tier: night,
	},
	{
		name: "nobody is patient", never: "small runs keep a large one waiting for ever",
		file: "landscape/admit/admit.go", old: "s.Now.Sub(c.Since) >= Patience", new: "false",
		pkg: "./landscape/admit", run: "^TestModel$",
	},
	{
		name: "a run takes more places than there are", never: "a pool is exceeded",
		file: "landscape/admit/admit.go", old: "> limit {", new: "> limit+1 {",
		pkg: "./landscape/admit", run: "^TestModel$",
	},
}
