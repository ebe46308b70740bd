package crash

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"waymark/internal/failpoint"
	"waymark/tests/crash/lab"
	"waymark/tests/held"
	"waymark/tests/programs"
	"waymark/tests/sample"
	"waymark/tests/services/pg"
	"waymark/workflows"
)

// marks are the places in the code at which there is a moment: calls with a name, and calls whose name is put together.
var (
	marks    = regexp.MustCompile(`failpoint\.(?:Hit|Short)\(([^,()]+)`)
	literals = regexp.MustCompile(`"(?:payload|sink|run|slot|arrival|webhook|request|log|purge|forget|archive)(?:\.[a-z]+)+"`)
	steps    = regexp.MustCompile(`\.hit\("([a-z]+)"\)`)
	attempts = regexp.MustCompile(`(?m)^func \(a \*Activities\) ([A-Z]\w+)\(.*\n` + // its lines are indented, or empty
		`(?:(?:[\t)].*)?\n)*?\t(?:_, err :=|return) (?:attempt|anyAttempt|inBatch)\(`)
)

// composed are the names that the code puts together: what is written there, and the words of the page for it.
var composed = map[string]string{
	`"activity." + name + ".begin"`:       "activity.NAME.begin",
	`"activity." + name + ".end"`:         "activity.NAME.end",
	`"activity." + t.activity + ".begin"`: "activity.NAME.begin",
	`"activity." + t.activity + ".end"`:   "activity.NAME.end",
	`"landscape." + m.table + "." + step`: "landscape.TABLE.STEP",
	"m.writing":                           "", // of a struct whose names are literals
	"m.written":                           "",
	"m.synced":                            "",
	"failpoint.Check":                     failpoint.Check,
}

// inCode returns the names of all moments in the code, those that are put together in the words of the page, and the names of
// the activities that have moments.
func inCode(t *testing.T) (names, activities []string) {
	t.Helper()
	found, acts := map[string]bool{}, map[string]bool{}
	eachSource(t, func(path, text string) {
		for _, m := range marks.FindAllStringSubmatch(text, -1) {
			if name, is := composed[strings.TrimSpace(m[1])]; is {
				found[name] = true
			} else {
				require.Regexp(t, literals, m[1], "%s: a name that this test does not know how to find", path)
			}
		}
		if strings.Contains(text, "failpoint.") {
			for _, name := range literals.FindAllString(text, -1) {
				found[strings.Trim(name, `"`)] = true
			}
		}
		for _, m := range attempts.FindAllStringSubmatch(text, -1) {
			acts[m[1]] = true
		}
		if strings.HasPrefix(path, "landscape/sqlitestore/") {
			for _, m := range steps.FindAllStringSubmatch(text, -1) {
				found["landscape.TABLE."+m[1]] = true
			}
		}
	})
	delete(found, "")
	delete(found, "landscape.TABLE.STEP")
	return slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(acts))
}

// eachSource calls do with every file of the normal build, by its path from the folder of the module.
func eachSource(t *testing.T, do func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() && (name == "internal/failpoint" || name == "tests" || name != "." && strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		do(filepath.ToSlash(name), string(text))
		return err
	})
	require.NoError(t, err)
}

// TestThePageListsEveryMoment compares docs/crash.md with the code.
func TestThePageListsEveryMoment(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/crash.md"))
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-zA-Z]+(?:\\.[a-zA-Z]+)+)` \\|").FindAllStringSubmatch(string(page), -1) {
		listed[m[1]] = true
	}
	names, _ := inCode(t)
	require.Equal(t, names, slices.Sorted(maps.Keys(listed)))
	require.Greater(t, len(names), 20, "the code has more moments than that")
}

// TestEveryMomentIsReached: a moment to which nothing comes would prove nothing. It tries a crash with each pipeline of the
// laboratory, a crash of its recovery with the first, what people do besides, and for what only faults of disks lead to, the tests of
// the packages.
func TestEveryMomentIsReached(t *testing.T) {
	sample.Rarely(t) // it rebuilds packages with failpoints
	binary := build(t)
	reached := map[string]int{}
	for _, report := range []*lab.Report{
		protected(t), try(t, lab.Options{Binary: binary, Pipeline: "timed.yaml", Singles: 1}),
		try(t, lab.Options{Binary: binary, Pipeline: "repeats.yaml", Singles: 1}),
	} {
		require.Zero(t, report.Failed(), "%v", report)
		for name, n := range report.Reached {
			reached[name] += n
		}
	}
	log := filepath.Join(t.TempDir(), "moments")
	t.Setenv("WAYMARK_FAILPOINT_LOG", log)
	held := peopleDoMore(t, binary)
	testPackages(t)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	text = slices.Concat(
		text, held, strangersStart(t, binary), scheduleRings(t, binary, ""), filesArrive(t, binary, ""),
		rowsArrive(t, binary, pg.Private(t), ""), deliveriesCome(t, binary, ""), requestsCome(t, binary, ""),
	)
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, " ")
		reached[name]++
	}

	names, activities := inCode(t)
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, "activity.NAME."):
			for _, activity := range activities {
				require.NotZero(t, reached[strings.Replace(name, "NAME", activity, 1)], "nothing comes to %s of %s", name, activity)
			}
		case strings.HasPrefix(name, "landscape.TABLE."):
			require.NotZero(t, reached[strings.Replace(name, "TABLE", "effect_events", 1)], "nothing comes to %s", name)
		default:
			require.NotZero(t, reached[name], "nothing comes to %s", name)
		}
	}
	require.Subset(t, activities, []string{"OpenRun", "Read", "Pass", "Fold", "Write", "Publish", "FinishRun", "SmallRun", "StopRun", "ResumeRun"})
}

// peopleDoMore does to runs what the laboratory does not. It returns the log of a process that was held up.
func peopleDoMore(t *testing.T, binary string) []byte {
	t.Helper()
	p := in(t, binary, "plain.yaml", "orders.csv")
	p.at("sink.part.written=kill").run(t, -1, "run", "plain.yaml", "--run-id", "given-up")
	p.at("activity.Write.end@2=kill").run(t, -1, "resume", "given-up")
	p.at("").run(t, 0, "cancel", "given-up", "--final", "--why", "it is not needed any more")
	p.run(t, 0, "purge", "--keep-source", "1ms", "--why", "it is not needed any more")
	p.write(t, "person.yaml", "name: person\nchunk: {rows: 7}\n"+
		"sources: {orders: {csv: {path: orders.csv}, key: [customer], schema: {fields: {id: int, customer: string, country: \"string?\", total: decimal, placed: date}}}}\n"+
		"sinks: {out: {csv: {path: out/person.csv}}}\n")
	p.run(t, 3, "run", "person.yaml", "--run-id", "person")
	p.run(t, 0, "forget", "customer=Hal", "--why", "request 88")
	people, _ := inTable(t, binary, pg.Private(t), "mode: insert")
	people.run(t, 0, "forget", "customer=person-3-of-all", "--delete-in", "out", "--why", "request 88")
	p.run(t, 0, "keys", "rotate", "log", "--why", "yearly")
	require.NoError(t, os.Mkdir(filepath.Join(p.folder, "away"), 0o700))
	p.run(t, 0, "archive", "--run", "person", "--to", "away", "--why", "it is old")

	web := held.Serve(p.folder)
	t.Cleanup(web.Close)
	web.Hold(30)
	p.write(t, "held.yaml", "name: held\nchunk: {rows: 12}\n"+
		"sources: {orders: {csv: {path: "+web.URL+"/orders.csv}, schema: {fields: {id: int, customer: string, country: \"string?\", total: decimal, placed: date}}}}\n"+
		"sinks: {out: {csv: {path: out/held.csv}}}\n")
	cancelled := p.start(t, "run", "held.yaml", "--run-id", "cancelled", "--allow-network", held.Networks)
	p.await(t, "activity.Write.end 1")
	p.run(t, 0, "cancel", "cancelled", "--why", "to see what comes of it")
	require.ErrorContains(t, cancelled.Wait(), "exit status 130")

	p.write(t, "fails.yaml", "name: fails\n"+
		"sources: {orders: {csv: {path: orders.csv}, schema: {fields: {id: int, customer: string, country: string, total: int, placed: date}}, on_invalid: fail}}\n"+
		"sinks: {out: {csv: {path: out/fails.csv}}}\n")
	p.run(t, 1, "run", "fails.yaml", "--run-id", "failed")

	p.write(t, "large.csv", "id\n"+strings.Repeat("1234567\n", 10_000)) // what is smaller is published by the run's last activity
	p.write(t, "large.yaml", "name: large\nsources: {ids: {csv: {path: large.csv}, schema: {fields: {id: int}}}}\nsinks: {out: {csv: {path: out/large.csv}}}\n")
	p.run(t, 0, "run", "large.yaml", "--run-id", "large")

	require.NoError(t, os.RemoveAll(filepath.Join(p.folder, "out")))
	p.run(t, 3, "run", "plain.yaml", "--run-id", "whole")
	path := aPayload(t, p.folder)
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.Truncate(path, 10))
	require.NoError(t, os.RemoveAll(filepath.Join(p.folder, "out")))
	p.run(t, 3, "run", "plain.yaml", "--run-id", "healed")
	moments, err := os.ReadFile(heldLog(p.folder))
	require.NoError(t, err)
	return moments
}

// strangersStart starts runs in Temporal, where no command would. It returns the log of the process that serves.
func strangersStart(t *testing.T, binary string) []byte {
	t.Helper()
	p := in(t, binary, "plain.yaml", "orders.csv")
	serving := p.serve(t, "")
	temporal := p.temporal(t)
	for key, says := range map[string]string{"key": "", "no key": "cannot be one"} {
		handle, err := temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: workflows.TaskQueue}, workflows.RunPipelineName,
			map[string]string{"pipeline": "plain", "key": key})
		require.NoError(t, err)
		if err = handle.Get(t.Context(), nil); says == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, says)
		}
	}
	return p.drain(t, serving)
}

// start starts the program, with a log of its own.
func (p *program) start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return p.startAt(t, "", args...)
}

// startAt is start with a plan.
func (p *program) startAt(t *testing.T, plan string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command(p.binary, append(args, "--quiet")...)
	command.Dir = p.folder
	command.Env = append(append(os.Environ(), p.env...), "WAYMARK_HEARTBEAT=1s", "WAYMARK_FAILPOINTS="+plan, "WAYMARK_FAILPOINT_LOG="+heldLog(p.folder))
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() })
	return command
}

// heldLog is the log of a process that was held up.
func heldLog(folder string) string { return filepath.Join(folder, "held") }

// await waits until the process that is held up has come to the moment.
func (p *program) await(t *testing.T, moment string) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(heldLog(p.folder))
		return err == nil && strings.Contains(string(text), moment+"\n")
	}, patience, time.Millisecond)
}

// testPackages runs tests that come to moments which need a disk at fault.
func testPackages(t *testing.T) {
	t.Helper()
	command := exec.Command("go", "test", "-vet=off", "-ldflags=-s -w "+programs.Armed, "-count=1", "-short",
		"-run", "^TestDelete|^TestBackend|^TestInterleaved$", "./payload/fsstore", "./plugin/file",
		"-every", "1") // a flag of package sample, which the tests of both use
	command.Dir = root
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
