package lab

import "fmt"

// Kind is what is wrong.
type Kind string

// Kinds of findings.
const (
	Lost       Kind = "lost"       // a row, or a file of an output, is not there
	Duplicated Kind = "duplicated" // a row is there once too often
	Torn       Kind = "torn"       // part of something is there: of a file, a payload, an output that did not appear
	Differing  Kind = "differing"  // what is there is not what it should be
	Stuck      Kind = "stuck"      // the run did not come to its end
)

// Finding is one thing that is wrong after a crash.
type Finding struct {
	Kind  Kind   `json:"kind"`
	Count int    `json:"count"` // of rows, files or records
	What  string `json:"what"`  // for people
}

// String says it in one line.
func (f Finding) String() string { return fmt.Sprintf("%s: %d: %s", f.Kind, f.Count, f.What) }
