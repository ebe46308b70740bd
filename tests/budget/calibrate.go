package main

import (
	"crypto/sha256"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	// reference is how many seconds of CPU time the work of calibrate takes on the machine by which -most is set: one
	// on which the tests of commit 2a039387 took 1,988 s. On another day they took 1,116 s, and calibrate 0.42 s.
	reference = 0.75

	rounds = 40
)

// calibrate does a fixed amount of what tests do most (hashing, sorting, memory, files), and returns how many seconds
// of CPU time that took.
func calibrate() float64 {
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
	return (used() - before).Seconds()
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
