package failpoint

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/tests/programs"
)

// child is the variable that makes the test's binary come to moments instead of testing: in an armed build, or in a
// normal one.
const child = "FAILPOINT_TEST_MOMENTS"

func TestMain(m *testing.M) {
	switch os.Getenv(child) {
	case "":
		os.Exit(m.Run())
	case "armed":
		Arm()
	}
	for _, name := range []string{"first", "second", "second", "third"} {
		if err := Hit(name); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(Short("write", 10))
	if n := Split(); n != 0 {
		fmt.Println("split from", n)
	}
	if now := Clock(); now != nil {
		fmt.Println("wrong by", time.Until(now()).Round(time.Minute))
	}
}

// process returns a process of an armed build that comes to the moments first, second twice, third, and the write of
// ten bytes.
func process(t *testing.T, plan, log string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.Command(self)
	command.Env = append(os.Environ(), child+"=armed", PlanVariable+"="+plan, LogVariable+"="+log)
	return command
}

func TestWithoutAPlanNothingHappens(t *testing.T) {
	output, err := process(t, "", "").CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "10\n", string(output))
}

func TestAnArmedBuildSplitsRunsOfAnySize(t *testing.T) {
	for text, says := range map[string]string{"": "10\n", "1": "10\nsplit from 1\n", "0": `1 or more, not "0"`, "all": `1 or more, not "all"`} {
		command := process(t, "", "")
		command.Env = append(command.Env, SplitVariable+"="+text)
		output, _ := command.CombinedOutput() // its words tell
		require.Contains(t, string(output), says)
	}
}

func TestTheClockOfAnArmedBuildMayBeWrong(t *testing.T) {
	for text, says := range map[string]string{
		"": "10\n", "-1h": "10\nwrong by -1h0m0s\n", "90m": "wrong by 1h30m0s", "an hour": `such as -1h, not "an hour"`,
	} {
		command := process(t, "", "")
		command.Env = append(command.Env, ClockVariable+"="+text)
		output, _ := command.CombinedOutput() // its words tell
		require.Contains(t, string(output), says)
	}
}

func TestANormalBuildObeysNoEnvironment(t *testing.T) {
	require.False(t, Enabled)
	log := filepath.Join(t.TempDir(), "log")
	command := process(t, "first=kill;second=error;write=short:0;no plan", log)
	command.Env = append(command.Env, child+"=normal", SplitVariable+"=1", ClockVariable+"=1h")
	output, err := command.CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "10\n", string(output))
	require.NoFileExists(t, log)
}

// TestTheLinkerArms builds a program twice: the name of the variable in the linker's flag is no more than a text.
func TestTheLinkerArms(t *testing.T) {
	for flags, says := range map[string]string{"": "10\n", programs.Armed: "failpoint: here\n3\n"} {
		binary := filepath.Join(t.TempDir(), "program")
		command := exec.Command("go", "build", "-ldflags=-s -w "+flags, "-o", binary, "./testdata/program")
		output, err := command.CombinedOutput()
		require.NoError(t, err, string(output))
		command = exec.Command(binary)
		command.Env = append(os.Environ(), PlanVariable+"=first=error:here;write=short:3")
		output, err = command.CombinedOutput()
		require.NoError(t, err)
		require.Equal(t, says, string(output))
	}
}

func TestTheMomentOfAKillIsInTheLog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	output, err := process(t, "second@2=kill", log).CombinedOutput()
	ended, ok := errors.AsType[*exec.ExitError](err)
	require.True(t, ok, "%v: %s", err, output)
	require.Equal(t, syscall.SIGKILL, ended.Sys().(syscall.WaitStatus).Signal())
	require.Equal(t, "first 1\nsecond 1\nsecond 2\n", read(t, log))
}

func TestAStoppedProcessGoesOnAtSIGCONT(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	command := process(t, "second=stop", log)
	require.NoError(t, command.Start())
	var status syscall.WaitStatus
	_, err := syscall.Wait4(command.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped())
	require.Equal(t, "first 1\nsecond 1\n", read(t, log))
	require.NoError(t, command.Process.Signal(syscall.SIGCONT))
	require.NoError(t, command.Wait())
	require.Equal(t, "first 1\nsecond 1\nsecond 2\nthird 1\nwrite 1\n", read(t, log))
}

func TestSeveralProcessesAppendToOneLog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	for range 2 {
		require.NoError(t, process(t, "", log).Run())
	}
	once := "first 1\nsecond 1\nsecond 2\nthird 1\nwrite 1\n"
	require.Equal(t, once+once, read(t, log))
}

func TestUnreadablePlanStopsProcess(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	for plan, reason := range map[string]string{
		"second=explode": `waymark: environment variable WAYMARK_FAILPOINTS: "second=explode": the actions are`,
		"write=unknown":  `only sink.part.check can be unknown`,
	} {
		output, err := process(t, plan, log).CombinedOutput()
		require.ErrorContains(t, err, "exit status 2")
		require.Contains(t, string(output), reason)
		require.NoFileExists(t, log)
	}
	_, err := arm("", filepath.Join(log, "no", "such", "folder"))
	require.ErrorContains(t, err, LogVariable)
}

func TestMisfitPlanStopsProcess(t *testing.T) {
	for plan, reason := range map[string]string{
		"third=short": "waymark: failpoint: third is no write: it cannot be short",
		"write=error": "waymark: failpoint: write is a write: it can be short, and fails then",
	} {
		output, err := process(t, plan, "").CombinedOutput()
		require.ErrorContains(t, err, "exit status 2")
		require.Contains(t, string(output), reason)
	}
}

func TestErrorsComeOnceEach(t *testing.T) {
	m := withPlan(t, "disk@2=error:ENOSPC;disk@3=error:EIO;odd=error:no luck;"+Check+"=unknown")
	require.NoError(t, m.hit("disk"))
	require.ErrorIs(t, m.hit("disk"), syscall.ENOSPC)
	require.ErrorIs(t, m.hit("disk"), syscall.EIO)
	require.NoError(t, m.hit("disk"))
	require.EqualError(t, m.hit("odd"), "failpoint: no luck")
	require.ErrorIs(t, m.hit(Check), ErrUnknown)
	require.NoError(t, m.hit(Check))
}

func TestAMomentPanics(t *testing.T) {
	m := withPlan(t, "committing@2=panic")
	require.NoError(t, m.hit("committing"))
	require.PanicsWithValue(t, "failpoint: committing", func() { _ = m.hit("committing") })
	require.NoError(t, m.hit("committing"))
}

// TestAGoroutineIsNoMoment: its beginning is counted and logged only where the plan names it.
func TestAGoroutineIsNoMoment(t *testing.T) {
	active = withPlan(t, "goroutine.outbox=panic")
	defer func() { active = nil }()
	Goroutine("doctor")
	require.Empty(t, active.count)
	require.PanicsWithValue(t, "failpoint: goroutine.outbox", func() { Goroutine("outbox") })
	Goroutine("outbox")
	require.Equal(t, map[string]int64{"goroutine.outbox": 2}, active.count)
}

func TestAWriteIsCutShortOnce(t *testing.T) {
	m := withPlan(t, "write=short:3;write@3=short;write@4=short:99")
	var written []int
	for range 5 {
		written = append(written, m.cut("write", 10))
	}
	require.Equal(t, []int{3, 10, 5, 10, 10}, written)
}

func TestADelayHoldsNobodyElseUp(t *testing.T) {
	m := withPlan(t, "slow=delay:1h")
	go func() { _ = m.hit("slow") }()
	for reached := false; !reached; time.Sleep(time.Millisecond) {
		m.mu.Lock()
		reached = m.count["slow"] == 1
		m.mu.Unlock()
	}
	require.NoError(t, m.hit("other"))
}

func TestEveryMomentIsCountedOnceWhoeverComes(t *testing.T) {
	m := withPlan(t, "moment@500=error:here")
	var group sync.WaitGroup
	var mu sync.Mutex
	injected := 0
	for range 10 {
		group.Go(func() {
			for range 100 {
				if m.hit("moment") != nil {
					mu.Lock()
					injected++
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	require.Equal(t, 1, injected)
	require.Equal(t, int64(1000), m.count["moment"])
}

func withPlan(t *testing.T, plan string) *moments {
	t.Helper()
	m, err := arm(plan, "")
	require.NoError(t, err)
	return m
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
