package main

import (
	"crypto/sha256"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	// reference is how many seconds of CPU time a round of calibrate takes, on the average of a run of all tests, on
	// the machine by which -most is set: one on which the tests of commit 2a039387 took 1,116 s.
	reference = 0.0165

	// rounds is how much of the work is done before the command, and after it; fewRounds before the tests of each
	// package: what a machine can do changes within a minute, if others have a part of it.
	rounds, fewRounds = 20, 3
)

// calibrate does some rounds of what tests do most (hashing, sorting, memory, files), and returns how many seconds of
// CPU time one took.
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

// used returns the CPU time of this process so far.
func used() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // it does not fail for oneself
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
