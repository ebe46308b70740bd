package main

const routeTests = "./workflows"

// routes is mutants of how the work of a run is shared by processes.
var routes = []mutant{
	{
		name: "parts of a sink that needs order are written side by side", never: "an older value replaces a newer one",
		file: "workflows/write.go", old: "case p.inOrder:", new: "case false:",
		pkg: routeTests, run: "^TestOrderedSinkKeepsOrder$",
	},
	{
		name: "nobody takes over from a process that is gone", never: "a run stops with the process that read its sources",
		file: "workflows/route.go", old: "if notFetched(future.Get(ctx, nil)) {", new: "if future.Get(ctx, nil) != nil && false {",
		pkg: routeTests, run: "^TestTakeoverFromDeadProcess$",
	},
	{
		name: "a process that is gone is asked for everything", never: "each chunk waits for a process that does not come",
		file: "workflows/route.go", old: "\t\tf.state.Sticky = worker\n", new: "",
		pkg: routeTests, run: "^TestTakeoverFromDeadProcess$",
	},
	{
		name: "any worker is given what only some can see", never: "a run writes half of its output on another machine",
		file: "workflows/route.go", old: "anywhere := onQueue(ctx, f.state.Plan.Queue)", new: "anywhere := ctx",
		pkg: routeTests, run: "^TestFilesBindRunToWorkers$",
	},
	{
		name: "one process does everything", never: "further workers stand by and watch",
		file: "workflows/route.go", old: "f.stickyChunks >= maxStickyChunks:", new: "false:",
		pkg: routeTests, run: "^TestChunksAreSpreadOverProcesses$",
	},
	{
		name:  "a share is read whatever the survey found",
		never: "a run processes rows of a file that changed after its survey",
		file:  "activities/survey.go", old: "err == nil && !ends():",
		new: "err == nil && len(stretch) == 0 && !ends():",
		pkg: "./activities", run: "^TestAFileThatChangesBehindASurvey$",
	},
	{
		name: "a folder that nobody allowed is read", never: "whoever starts a workflow reads the files of the worker's machine",
		file: "worker/planner.go", old: "if !p.allows(folder) {", new: "if false {",
		pkg: "./worker", run: "^TestConfinedFolders$",
	},
	{
		name: "documents of others write anywhere", never: "a deployer overwrites the server's settings",
		file: "worker/planner.go", old: "\treturn root.Confine(c)\n", new: "\treturn nil\n",
		pkg: "./worker", run: "^TestWhereConfinedDocumentsWrite$",
	},
	{
		name: "documents of others read what the server reads", never: "a deployer reads the folder of secrets",
		file: "worker/daemon/own.go", old: "p.Own = append(c.own(), ", new: "p.Own = append([]string(nil), ",
		pkg: "./cmd/waymark", run: "^TestPlaces$",
	},
	{
		name:  "a folder is entered that somebody put in the place of another",
		never: "a link that is made in time leads a sink into the folder of secrets",
		file:  "plugin/file/files.go", old: "case info.Mode()&fs.ModeSymlink != 0:\n\t\treturn nil, &DeniedError{way,",
		new: "case false:\n\t\treturn nil, &DeniedError{way,",
		pkg: "./plugin/file", run: "^TestFoldersThatAreExchanged$",
	},
}
