// Package sweep holds the checks by which an audit sweep holds a run's record against itself, as SQL that SQLite and Postgres
// understand alike. What unpacks tokens is written in each store: the two have no functions of bytes in common.
package sweep

import (
	"cmp"
	"slices"

	"waymark/landscape"
)

// Check is one query of a sweep. Its parameter $1 is the run; it selects source, chunk (-1 if it is not about one chunk), node
// and detail of whatever is wrong.
type Check struct {
	Name string // stored in findings; never rename
	SQL  string
}

// MostFindings is how many findings of one check are reported.
const MostFindings = 100

// Counts compare counts of chunks, ways, errors, effects and batches. They read no blob and no token: they run in the transaction
// that completes a run.
var Counts = slices.Concat(chunks, barriers)

// Sort puts findings in the order in which a sweep reports them: by place, then in the order of the checks.
func Sort(found []landscape.Finding) {
	slices.SortStableFunc(found, func(a, b landscape.Finding) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.Node, b.Node))
	})
}
