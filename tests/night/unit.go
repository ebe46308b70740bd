package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A campaign is units that try the same in many ways.
type campaign struct {
	name    string
	minutes float64  // its share of a night of an hour
	prepare []string // a command that builds what the units use; nil if they need nothing
	units   []unit
}

// A unit is one command that passes or fails. It should take a few minutes at most: a night does not begin one that it
// cannot end.
type unit struct {
	campaign string
	name     string        // is in the state: a unit with another name is another unit
	guess    time.Duration // how long it takes, until it has run

	// A test of a package. Its binary is built once for several units.
	pkg       string   // such as ./tests/graphs; empty if the unit is another command
	build     []string // flags of `go test` that make another binary, such as -race
	run, skip string   // patterns of tests, as `go test` takes them

	// flags are those of the test, or the whole of another command. Each time that the unit passed the round is one
	// greater, so that a random test has other seeds.
	flags func(round uint64) []string
}

// longest is how long a unit may take unless it is expected to take long.
const longest = 20 * time.Minute

// limit is the time after which a unit hangs.
func (u unit) limit() time.Duration { return max(longest, 3*u.guess) }

// key names the unit in the state.
func (u unit) key() string { return u.campaign + "/" + u.name }

// repeat returns the command line that tries the same again.
func (u unit) repeat(round uint64) string {
	command := u.flags(round)
	if u.pkg != "" {
		test := append([]string{"go", "test"}, u.build...)
		test = append(test, u.pkg, "-count=1", "-timeout="+u.limit().String())
		if u.run != "" {
			test = append(test, "-run", u.run)
		}
		if u.skip != "" {
			test = append(test, "-skip", u.skip)
		}
		command = append(test, command...)
	}
	quoted := make([]string, len(command))
	for i, word := range command {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

var plainWord = regexp.MustCompile(`^[a-zA-Z0-9_./:=,+@%-]+$`)

// quote returns the word as a shell reads it.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// always returns flags that are the same in every round.
func always(flags ...string) func(uint64) []string {
	return func(uint64) []string { return flags }
}

// tests is a unit of some tests of a package, with these flags. It is expected to take some minutes.
func tests(name string, minutes int, pkg, run string, flags ...string) unit {
	return unit{name: name, guess: time.Duration(minutes) * time.Minute, pkg: pkg, run: run, flags: always(flags...)}
}

// seeded is count units of a random test. Each tries as many seeds, no two the same, and in its next round others.
func seeded(u unit, count, each uint64, flags func(first uint64) []string) []unit {
	units := make([]unit, count)
	for i := range count {
		units[i] = u
		units[i].name = fmt.Sprintf("%s %d", u.name, i+1)
		units[i].flags = func(round uint64) []string { return flags((round*count + i) * each) }
	}
	return units
}

// names returns the tests that the unit names. Behind a slash are cases of a test.
func (u unit) names() (all []string) {
	for part := range strings.SplitSeq(u.run, "|^") {
		name, _, _ := strings.Cut(part, "/")
		all = append(all, strings.Trim(name, "^$"))
	}
	return all
}

// only returns the units whose key contains the text.
func only(units []unit, text string) []unit {
	return slices.DeleteFunc(slices.Clone(units), func(u unit) bool { return !strings.Contains(u.key(), text) })
}
