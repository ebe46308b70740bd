package main

import "waymark/tests/programs"

// withFailpoints is for tests of the build that can be told to die.
var withFailpoints = []string{"-ldflags=" + programs.Armed}

// laboratory is mutants of what finds out whether crashes do harm: it must not be content with less.
var laboratory = []mutant{
	{
		name: "a moment is not hit", never: "the crash laboratory proves nothing about it",
		file: "landscape/sqlitestore/commit.go", old: "return at.hit(\"committed\")", new: "return nil",
		pkg: "./landscape/sqlitestore", run: "^TestMoments$", flags: withFailpoints,
	},
	{
		name: "a moment within the transaction is not hit", never: "the crash laboratory proves nothing about it",
		file: "landscape/sqlitestore/commit.go", old: "return at.hit(\"committing\")", new: "return nil",
		pkg: "./landscape/sqlitestore", run: "^TestMoments$", flags: withFailpoints,
	},
	{
		name: "a process continues after it was killed", never: "a crash that the laboratory reports did not happen",
		file: "internal/failpoint/moments.go",
		old:  "signal(syscall.SIGKILL)\n\t\tselect {}", new: "_ = syscall.SIGKILL",
		pkg: "./internal/failpoint", run: "^TestTheMomentOfAKillIsInTheLog$",
	},
	{
		name: "moments are not counted", never: "a process dies at another moment than the report says",
		file: "internal/failpoint/moments.go", old: "m.count[name]++", new: "m.count[name] = 1",
		pkg: "./internal/failpoint", run: "^TestEveryMomentIsCountedOnceWhoeverComes$",
	},
	{
		name: "a normal build makes short writes", never: "failpoints do harm where nobody asked for them",
		file: "internal/failpoint/moments.go",
		old:  "if active == nil {\n\t\treturn n\n", new: "if active == nil {\n\t\treturn n / 2\n",
		pkg: "./internal/failpoint", run: "^TestANormalBuildObeysNoEnvironment$",
	},
	{
		name: "the laboratory does not see rows that are there twice", never: "duplicates pass for a run without harm",
		file: "tests/crash/lab/compare.go", old: "extra = append(extra, line)", new: "_ = line",
		pkg: "./tests/crash/lab", run: "^TestDifferencesFromUndisturbedRun$",
	},
	{
		name: "the laboratory does not see rows that are missing", never: "losses pass for a run without harm",
		file: "tests/crash/lab/compare.go", old: "missing = append(missing, line)", new: "_ = line",
		pkg: "./tests/crash/lab", run: "^TestDifferencesFromUndisturbedRun$",
	},
	{
		name: "the laboratory does not compare the record", never: "a record that lacks what happened passes for a whole one",
		file: "tests/crash/lab/compare.go", old: "found = append(found, compareTable(table, s.tables[table], got.tables[table])...)", new: "_ = table",
		pkg: "./tests/crash/lab", run: "^TestDifferencesCompareEveryTable$",
	},
	{
		name: "a sample has the same names again and again", never: "moments that come seldom are never tried",
		file: "tests/crash/lab/moment.go", old: "rounds[m.Name]++", new: "rounds[m.Name] = 0",
		pkg: "./tests/crash/lab", run: "^TestASampleHasEveryNameBeforeItHasOneTwice$",
	},
}
