package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/tests/programs"
)

// everyCase has a test try every case of its lists, and run although shorter tests say a part of it (package sample).
const everyCase = "-every=1"

// table returns all campaigns. Their minutes are shares of a night of an hour.
func table(t *tree, mutants []string) []campaign {
	all := []campaign{
		{name: "crash", minutes: 10, prepare: []string{"make", "--no-print-directory", "lab"}, units: crash()},
		{name: "graphs", minutes: 6, units: graphs()},
		{name: "fates", minutes: 5, units: fates()},
		{name: "merges", minutes: 2, units: merges()},
		{name: "storage", minutes: 3, units: storage()},
		{name: "inputs", minutes: 2, units: inputs()},
		{name: "crowds", minutes: 6, units: crowds()},
		{name: "voices", minutes: 4, units: voices()},
		{name: "race", minutes: 4, units: race()},
	}
	for i := range all {
		all[i].sampled(t)
	}
	all = append(all,
		campaign{name: "cases", minutes: 9, units: cases(t, all)},
		campaign{name: "properties", minutes: 1, units: properties(t)},
		campaign{name: "mutants", minutes: 8, units: mutated(mutants)},
	)
	for i := range all {
		for j := range all[i].units {
			all[i].units[j].campaign = all[i].name
		}
	}
	return all
}

// sampled has units try every case, where the tests of their packages would leave some out. Whole packages under the
// race detector may leave them out.
func (c *campaign) sampled(t *tree) {
	for i, u := range c.units {
		whole := u.build != nil && u.run == ""
		if f := t.find(u.pkg); f != nil && f.uses(samples) && !whole && !slices.Contains(u.flags(0), everyCase) {
			c.units[i].flags = func(round uint64) []string { return append([]string{everyCase}, u.flags(round)...) }
		}
	}
}

// cases is each test that leaves out a part by day, and each script, with nothing left out. Tests that other campaigns
// have are not.
func cases(t *tree, others []campaign) (units []unit) {
	elsewhere := map[string]bool{}
	for _, c := range others {
		for _, u := range c.units {
			if u.build == nil {
				for _, name := range u.names() {
					elsewhere[u.pkg+" "+name] = true
				}
			}
		}
	}
	for _, f := range t.packages {
		if !f.uses(samples) {
			continue
		}
		for _, name := range f.reaching(samples) {
			switch {
			case elsewhere[f.name+" "+name]:
			case name == "TestScripts":
				for _, script := range t.scripts {
					run := "^TestScripts$/^" + script + "$"
					units = append(units, tests(f.name+" "+script, 1, f.name, run, everyCase))
				}
			default:
				units = append(units, tests(f.name+" "+name, 2, f.name, "^"+name+"$", everyCase))
			}
		}
	}
	return units
}

// properties is the tests that hold for whatever rapid thinks of, and more of that.
func properties(t *tree) (units []unit) {
	for _, f := range t.packages {
		if !f.uses(rapid) {
			continue
		}
		flags := []string{"-rapid.checks=2000", "-rapid.nofailfile"}
		if f.uses(samples) {
			flags = append(flags, everyCase)
		}
		run := "^" + strings.Join(f.reaching(rapid), "$|^") + "$"
		u := tests(f.name, 1, f.name, run)
		u.flags = func(round uint64) []string { return append(flags[:len(flags):len(flags)], rapidSeed(round)) }
		units = append(units, u)
	}
	return units
}

// rapidSeed makes rapid think of the same in each try of a round: what failed fails again.
func rapidSeed(round uint64) string { return fmt.Sprintf("-rapid.seed=%d", round+1) }

// mutated is each mutant of tests/mutants.
func mutated(mutants []string) (units []unit) {
	for _, name := range mutants {
		try := always("go", "run", "./tests/mutants", "-name", name)
		units = append(units, unit{name: name, guess: time.Minute, flags: try})
	}
	return units
}

// crash is the crash laboratory. Each unit has the moments of a part, and pairs that begin with them.
func crash() (units []unit) {
	for _, l := range []struct {
		document string
		parts    int
		pairs    int // of each part
		split    bool
	}{
		{"reference", 20, 100, false}, {"timed", 4, 0, false}, {"repeats", 6, 50, false}, {"small", 4, 75, false},
		{"split", 6, 75, true},
	} {
		for part := range l.parts {
			units = append(units, unit{
				name: fmt.Sprintf("%s %d", l.document, part+1), guess: 4 * time.Minute,
				flags: func(round uint64) []string {
					return []string{
						"bin/lab", "-singles", "all", "-pairs", fmt.Sprint(l.pairs), fmt.Sprintf("-split=%t", l.split),
						"-part", fmt.Sprintf("%d/%d", part+1, l.parts), "-seed", fmt.Sprint(round + 1),
						"tests/crash/" + l.document + ".yaml",
					}
				},
			})
		}
	}
	return units
}

// graphs is random documents, whose runs leave what a second interpreter says.
func graphs() (units []unit) {
	const pkg = "./tests/graphs"
	from := func(count string, n uint64, more ...string) func(uint64) []string {
		return func(first uint64) []string {
			return append([]string{"-seed=" + fmt.Sprint(first), fmt.Sprintf("-%s=%d", count, n)}, more...)
		}
	}
	runs := func(name string) unit { return tests(name, 2, pkg, "^TestRealRuns$") }
	deaths := func(name string) unit { return tests(name, 3, pkg, "^TestRunsDieAndGoOn$") }
	units = append(units, seeded(runs("runs"), 4, 20, from("seeds", 20))...)
	units = append(units, seeded(deaths("deaths"), 3, 5, from("deaths", 5))...)
	for _, storage := range []string{"sqlite+files", "postgres+files", "postgres+s3"} {
		units = append(units, seeded(runs("runs on "+storage), 2, 20, from("seeds", 20, "-storage="+storage))...)
	}
	far := from("deaths", 4, "-storage=postgres+s3")
	units = append(units, seeded(deaths("deaths on postgres+s3"), 2, 4, far)...)
	return append(units, tests("many lanes", 2, pkg, "^TestManyLanes", "-lane-deaths=2"))
}

// strides are distances between the writes that tests lose. In each round another one is taken, which loses other
// writes.
func strides(flag string, distances ...int) func(uint64) []string {
	return func(round uint64) []string {
		return []string{fmt.Sprintf("-%s=%d", flag, distances[round%uint64(len(distances))])}
	}
}

// fates is lost requests and lost replies, and deaths, at many writes of a run.
func fates() []unit {
	fate := func(name, run string) unit {
		u := tests(name, 4, "./activities", run)
		u.flags = strides("stride", 4, 5, 7, 3)
		return u
	}
	deed := func(name, run string) unit {
		u := tests(name, 5, "./tests/resume", run)
		u.flags = strides("step", 23, 19, 29, 17)
		return u
	}
	return []unit{
		fate("writes", "^TestFates$"),
		fate("writes to a table", "^TestFatesOfATable$"),
		deed("deeds", "^TestARunDiesAtEveryDeed$"),
		deed("deeds with deadlines", "^TestARunWithDeadlinesDiesAtEveryDeed$"),
	}
}

// merges is every coalesce of up to four branches.
func merges() (units []unit) {
	const pkg = "./tests/graphs"
	for _, policy := range []string{"require_all", "best_effort", "first", "quorum"} {
		for _, test := range []string{"TestInOnePass", "TestInEveryOrder"} {
			run := fmt.Sprintf("^%s$/^._branches,_%s", test, policy)
			units = append(units, tests(test+" "+policy, 3, pkg, run, "-branches=4"))
		}
	}
	const rest = "^TestTimeouts$|^TestASlowChunkKeepsItsTurn$|^TestLostWithinABarrier$"
	return append(units, tests("rest", 3, pkg, rest, "-branches=4"))
}

// storage is losses of power, of commits and of replies, disks that are full, and payloads that are deleted while
// others write them.
func storage() []unit {
	moments := tests("moments of a transaction", 1, "./landscape/sqlitestore", "^TestMoments$")
	moments.build = []string{"-ldflags=-w " + programs.Armed}
	return []unit{
		moments,
		tests("power of payloads", 3, "./payload/fsstore", "^TestPowerLoss$", "-losses=40"),
		tests("power of files", 5, "./plugin/file", "^TestPowerLoss$", "-losses=3"),
		tests("interleaved files", 2, "./plugin/file", "^TestInterleaved$", "-rounds=200"),
		tests("full disks", 3, "./tests", "^TestFullDisk$", "-everywhere"),
		tests("lost commits", 3, "./landscape/pgstore", "^TestLostCommits$", "-lost=200"),
		tests("lost commits of parts", 3, "./plugin/postgres", "^TestCommitsWhoseReplyIsLost$", "-lost=200"),
		tests("attempts at one part", 3, "./plugin/postgres", "^TestAttemptsAtOnePartAtTheSameTime$", "-lost=200"),
		tests("purges", 5, "./audit/retain", "^TestPurgeBesideWriters$/^sqlite", "-rounds=1700", "-test.count=3"),
		tests("purges on Postgres", 5, "./audit/retain", "^TestPurgeBesideWriters$/^postgres", "-rounds=500"),
	}
}

// inputs is many inputs and records, most of them damaged.
func inputs() []unit {
	units := seeded(tests("Parquet", 2, "./plugin/parquet", "^TestDuckDB$"), 3, 1000, func(first uint64) []string {
		return []string{fmt.Sprintf("-seed=%d", first+1), "-files=1000"}
	})
	return append(units,
		tests("bad rows", 2, "./tests", "^TestEveryRecordIsAccountedFor$", "-everywhere"),
		tests("refusals", 3, "./audit", "^TestRowsTurnedAway$", "-groups"),
		tests("bytes of a bundle", 4, "./audit/evidence/bundle", "^TestSingleByte$", everyCase),
		tests("damaged documents", 1, "./engine/plan", "^TestDamagedDocumentsAreCompiled$", "-damages=20000"),
		tests("days of all zones", 3, "./pipeline/calendar", "^TestEveryDayOfEveryZone$", "-times-of-day=24"),
	)
}

// crowds is many processes, runs and files at once, some of which are killed or stand still.
func crowds() (units []unit) {
	for _, visit := range []string{
		"after the run", "of earlier epochs", "during the run", "of earlier epochs, during the run", "killed",
	} {
		run := "^TestZombies$/^" + strings.ReplaceAll(visit, " ", "_") + "$"
		units = append(units, tests("zombies "+visit, 8, "./tests/workers", run, "-zombies=200"))
	}
	for _, place := range []string{"folder", "pipeline", "bucket"} {
		run := "^TestFilesArriveWhileProcessesAreKilled$/^" + place + "$"
		units = append(units, tests("arrivals "+place, 15, "./tests/serve", run, "-files=10000", "-kills=12"))
	}
	return append(units,
		tests("starts", 8, "./tests/serve", "^TestACrowdWaitsForPlaces$", "-starts=200"),
		tests("cluster", 8, "./tests/workers", "^TestARunSurvivesItsServices$", "-rows=150000"),
		tests("cluster of a million rows", 15, "./tests/workers", "^TestARunSurvivesItsServices$", "-rows=1000000"),
		tests("cluster without keys", 5, "./tests/workers", "^TestAWorkerWithoutTheKeysHarmsNobody$", "-rows=150000"),
	)
}

// voices is pages, the API, commands and SQL, which say the same of random runs, and every link of a site.
func voices() []unit {
	random := tests("of random runs", 4, "./tests/pages", "^TestVoicesAgree$")
	units := seeded(random, 6, 10, func(first uint64) []string {
		return []string{fmt.Sprintf("-voice=%d", first), "-voices=10"}
	})
	return append(units,
		tests("links", 8, "./tests/pages", "^TestCrawl$", "-every-row"),
		tests("commands", 5, "./tests/serve", "^TestRemoteSame$", "-documents=6"),
		tests("examples twice", 3, "./tests", "^TestExamplesAreReproduced$", "-everywhere"),
	)
}

// race is the race detector for packages that bring databases and their clients with them, or do one thing after the
// other. `make race` has the others.
func race() (units []unit) {
	// The file system of TestPowerLoss is not the one of a normal build under the detector.
	for _, pkg := range []string{
		"plugin/file", "plugin/postgres", "plugin/csv", "plugin/jsonl", "plugin/lookup",
		"activities", "activities/bundle", "activities/resumepoint", "engine/barrier", "engine/plan",
		"landscape/history", "landscape/admit", "landscape/seal", "internal/failpoint", "client",
		"worker", "worker/daemon", "worker/formats", "worker/storage", "worker/telemetry",
		"workflows", "workflows/recovery", "workflows/slots", "workflows/triggers",
	} {
		u := tests(pkg, 2, "./"+pkg, "")
		u.skip = "^TestPowerLoss$"
		units = append(units, raced(u)...)
	}
	const object = "^TestTargetContract$|^TestLostReplies$|^TestTwoRunsOverwrite$|^TestReaderAt$"
	const driver = "^TestDriver$/^(Concurrency|Guards)$|^TestGroup|^TestManyCreate$"
	return append(units, raced(
		tests("landscape/sqlitestore", 2, "./landscape/sqlitestore", driver),
		tests("landscape/pgstore", 2, "./landscape/pgstore", "^TestDriver$/^(Concurrency|Guards)$"),
		tests("payload/s3store", 2, "./payload/s3store", "^TestBackend$|^TestManyWriters|^TestHealers"),
		tests("plugin/object", 2, "./plugin/object", object),
		tests("plugin/parquet", 2, "./plugin/parquet", "IsReadBack|TheSameRows|Contract"),
	)...)
}

func raced(units ...unit) []unit {
	for i := range units {
		units[i].build = []string{"-race"}
	}
	return units
}
