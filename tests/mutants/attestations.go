package main

// attestations is mutants of what is attested on schedule.
var attestations = []mutant{
	{
		name: "a sample counts as an attestation of everything", never: "an output is edited where nobody looked, and is not looked at again",
		file: "landscape/attestation.go", old: "if a.Whole() && !slices", new: "if !slices",
		pkg: "./audit", run: "^TestAttestSchedule$",
	},
	{
		name: "attesting one output puts off the others", never: "who may attest one sink keeps the others from being looked at",
		file: "audit/attest_schedule.go", old: "if len(newest) == len(outputs) {", new: "if len(newest) > 0 {",
		pkg: "./audit", run: "^TestAttestSchedule$",
	},
	{
		name: "every turn tells of the same change", never: "people stop reading what comes every day",
		file: "landscape/attestation.go", old: "\t\tif !same {\n", new: "\t\tif !same || a.Whole() {\n",
		pkg: "./tests/workers", run: "^TestOneProcessAttests$", tier: night,
	},
	{
		name: "a process records in the turn of another", never: "a process that slept for an hour records what was so then as what is so now",
		file: "landscape/turn.go", old: "if err == nil && now != turn {", new: "if err == nil && now.at < turn.at {",
		pkg: "./landscape/sqlitestore", run: driverTest,
	},
	{
		name: "a process takes a turn that moves", never: "each worker reads every output, and a bucket is paid for as often",
		file: "worker/daemon/attest.go", old: "time.Since(w.since) >= attestLease", new: "time.Since(w.since) >= 0",
		pkg: "./tests/workers", run: "^TestOneProcessAttests$", tier: night,
	},
	{
		name: "a worker attests files that it does not see", never: "a worker says that an output is missing which is on another machine",
		file: "worker/daemon/attest.go", old: "!run.Local || ", new: "run.Run == \"\" || ",
		pkg: "./worker/daemon", run: "^TestAProcessAttestsWhatItSees$",
	},
}
