package main

// arrivals is mutants of triggers, and of what arrives at them.
var arrivals = []mutant{
	{
		name: "a process takes what another one takes", never: "two workers give the same file to two runs",
		file: "landscape/arrival.go", old: "tx := Tx{Move: []Move{{From: from, To: next}}}", new: "_, tx := next, Tx{}",
		pkg: "./landscape/sqlitestore", run: driverTest,
	},
	{
		name: "a file is taken while it is written", never: "half a file is a complete run",
		file: "workflows/triggers/look.go", old: "time.Since(since.since) < quiet", new: "time.Since(since.since) < 0",
		pkg: "./workflows/triggers", run: "^TestArrived$",
	},
	{
		name: "a file that changed before it was read is ignored", never: "nobody reads a file that was corrected in time",
		file: "workflows/triggers/look.go", old: "read := known.State == landscape.ArrivalTaken", new: "read := known.State == landscape.ArrivalReady || known.State == landscape.ArrivalTaken",
		pkg: "./workflows/triggers", run: "^TestArrived$",
	},
	{
		name: "a run of what arrived reads all that is there", never: "a file is in as many runs as there are files",
		file: "activities/open.go", old: "known[compiled.Nodes[i].Name]; is {", new: "known[compiled.Nodes[i].Name]; is && len(pin.Files) > 9 {",
		pkg: "./tests/serve", run: "^TestEachFileGetsARun$", tier: night,
	},
	{
		name: "the position is recorded before all that was found up to it", never: "a process is killed, and an output that it had found is in no run",
		file: "workflows/triggers/watcher.go", old: "if len(changes) > 0 {\n\t\t\tnow.Position", new: "if false {\n\t\t\tnow.Position",
		pkg: "./workflows/triggers", run: "^TestPositionsComeLast$",
	},
	{
		name: "outputs of runs that failed arrive", never: "a pipeline reads what the one before it may yet publish otherwise",
		file: "workflows/triggers/outputs.go", old: "!event.Kind.Status().Complete()", new: "event.Kind.Status() == \"\"",
		pkg: "./workflows/triggers", run: "^TestOutputsOfCompleteRuns$",
	},
	{
		name: "rows arrive before transactions that began before theirs have ended", never: "a row that is committed late is in no run",
		file: "plugin/postgres/grown.go", old: "pg_snapshot_xmin(pg_current_snapshot())", new: "pg_snapshot_xmax(pg_current_snapshot())",
		pkg: "./plugin/postgres", run: "^TestRowsBehindATransactionThatGoesOnWait$",
	},
	{
		name: "rows of which two could be alike arrive", never: "of two rows with one moment, one is in no run",
		file: "plugin/postgres/grown.go", old: "if !unique {", new: "if false {",
		pkg: "./plugin/postgres", run: "^TestTablesAtWhichNothingCanArrive$",
	},
	{
		name: "a document that somebody sends reads files of the server", never: "who may deploy over the API finds out what is in a file of secrets",
		file: "client/trial.go", old: "request.Closed = true", new: "request.Closed = false",
		pkg: "./tests/pages", run: "^TestPages$/^refused rows are mended$",
	},
	{
		name: "what is read is not compared with what was published", never: "bytes that somebody exchanged are read as those of another pipeline's run",
		file: "activities/arrived.go", old: "digests[i] != output.SHA256", new: "false",
		pkg: "./activities", run: "^TestAsPublished$",
	},
	{
		name:  "files of a run that is given up are returned as they were",
		never: "of a file that was written again, the text before that gets a run",
		file:  "workflows/triggers/settle.go",
		old:   "last.Revision > from.Revision", new: "last.Revision < from.Revision",
		pkg: "./workflows/triggers", run: "^TestFilesOfARunThatIsGivenUp$",
	},
	{
		name: "a run that failed returns its files", never: "a run that is resumed, and another one, read the same file",
		file: "workflows/triggers/settle.go", old: "return stopped, nil", new: "return over, nil",
		pkg: "./tests/serve", run: "^TestAFailedRunKeepsItsFiles$", tier: night,
	},
}
