package main

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	// reference is how many seconds of CPU time a round of calibrate takes, on the average of a run of all tests, on
	// the machine by which -most is set: one on which the tests of commit 2a039387 took 1,116 s. Of it, 0.0165 s were
	// measured there; a start is taken to cost 1.2 ms, as on common machines.
	reference = 0.0189

	// starts is how many processes are started in a round. On some virtual machines a start or a page fault takes five
	// to twenty times as long as on others that hash as fast: the same tests took 2.3 times as long there, and all else
	// of a round 1.3 times.
	starts = 2

	// rounds is how much of the work is done before the command, and after it; fewRounds before the tests of each
	// package: what a machine can do changes within a minute, if others have a part of it.
	rounds, fewRounds = 20, 3
)

// calibrate does some rounds of what tests do most (hashing, sorting, memory, files, processes), and returns how many
// seconds of CPU time one took.
func calibrate(rounds int) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // whatever the environment says
	before := used()
	for round := range rounds {
		words := make([]string, 1<<15)
		for i := range words {
			words[i] = strconv.Itoa(i * 7919 % (1 << 15))
		}
		slices.Sort(words)
		known := make(map[string][32]byte, len(words))
		for _, w := range words {
			known[w] = sha256.Sum256([]byte(w))
		}
		written(round, known)
		for range starts {
			started()
		}
	}
	return (used() - before).Seconds() / float64(rounds)
}

// written writes some of what is known into files, and reads it back. A folder that takes none costs no time, which is
// noticed by nothing but the scale.
func written(round int, known map[string][32]byte) {
	for i := range 50 {
		name := os.TempDir() + "/waymark-calibrate-" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(round*50+i)
		sum := known[strconv.Itoa(i)]
		_ = os.WriteFile(name, sum[:], 0o600)
		_, _ = os.ReadFile(name)
		_ = os.Remove(name)
	}
}

// started starts this program with the order to end at once, and waits until it has. A machine that starts none costs
// no time, as with files.
func started() {
	if self, err := os.Executable(); err == nil {
		_ = exec.Command(self, endAtOnce).Run()
	}
}

// used returns the CPU time so far of this process and of those that it waited for.
func used() (sum time.Duration) {
	for _, whose := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		_ = syscall.Getrusage(whose, &usage) // it does not fail for oneself
		sum += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return sum
}
