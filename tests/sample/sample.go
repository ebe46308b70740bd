// Package sample thins out lists of cases that are much alike and of which each takes long: `go test` tries some of them, and `make nightly` all.
package sample

import "flag"

var every = flag.Int("every", 0, "try every so many of the cases of a long list; 0 for what each list says")

// All reports whether every case is to be tried.
func All() bool { return *every == 1 }

// Of returns each nth of the cases, beginning with the first; with -every N each Nth.
func Of[T any](n int, cases []T) (tried []T) {
	if *every > 0 {
		n = *every
	}
	for i := 0; i < len(cases); i += n {
		tried = append(tried, cases[i])
	}
	return tried
}
