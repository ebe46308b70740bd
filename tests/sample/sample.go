// Package sample has `go test` leave out some of what takes long: cases of lists that are much alike, and tests of what shorter tests say in part. `make nightly` tries all.
package sample

import (
	"flag"
	"testing"
)

var every = flag.Int("every", 0, "try every so many of the cases of a long list; 0 for what each list says")

// All reports whether every case is to be tried.
func All() bool { return *every == 1 }

// Step returns how far it is from one case of a list to the next that is tried: n, and with -every N it is N.
func Step(n int) int {
	if *every > 0 {
		return *every
	}
	return n
}

// Of returns each nth of the cases, beginning with the first; with -every N each Nth.
func Of[T any](n int, cases []T) (tried []T) {
	for i := 0; i < len(cases); i += Step(n) {
		tried = append(tried, cases[i])
	}
	return tried
}

// Rarely skips a test unless every case is to be tried: one that takes long, of which other tests say a part.
func Rarely(t testing.TB) {
	t.Helper()
	if !All() {
		t.Skip("make nightly tries it")
	}
}
