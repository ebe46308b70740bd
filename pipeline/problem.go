package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a document, at its place.
type Problem struct {
	File    string // as given to Load; empty for a text that is in no file
	Line    int    // from 1
	Column  int    // from 1, in characters
	Path    string // from the document's root, such as steps[2].routes; empty for the document as a whole
	Message string // one line: names the thing, and the cure where there is one
	Input   string // JSON Pointer into the input of the run, such as /params/limit, if that is at fault; empty if the document is
}

// Given reports whether nothing is wrong but what was given for the run.
func (p Problems) Given() bool {
	return len(p) > 0 && !slices.ContainsFunc(p, func(one Problem) bool { return one.Input == "" })
}

// NoSlot is the Problem.Input of a run that names no slot, and needs one.
const NoSlot = "/for"

// String returns the problem in one line: orders.yaml:14:5: steps[2].routes: no sink or step named "reveiw".
func (p Problem) String() string {
	if p.File == "" {
		return strings.TrimPrefix(p.Path+": ", ": ") + p.Message
	}
	if p.Path == "" {
		return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", p.File, p.Line, p.Column, p.Path, p.Message)
}

// Problems are all mistakes of one document, in the order of their places. As an error it prints one line for each.
type Problems []Problem

// Error returns one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// Sort puts the problems in the order of their places. Problems at one place keep their order.
func (p Problems) Sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// Limited returns the first problems, which are sorted, as many as anybody reads, and how many more there are.
func (p Problems) Limited() Problems {
	kept := p[:min(len(p), maxProblems)]
	return kept.withDropped(len(p) - len(kept))
}

// withDropped ends the problems, which are sorted, with the number of those that are left out.
func (p Problems) withDropped(dropped int) Problems {
	if dropped == 0 {
		return p
	}
	last := p[len(p)-1]
	last.Path, last.Message = "", fmt.Sprintf("%d more problems are not shown", dropped)
	return append(slices.Clip(p), last)
}
