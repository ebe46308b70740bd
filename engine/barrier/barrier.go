// Package barrier is what happens where rows wait for each other: an aggregate, a sort, an expand, a deduplicate that keeps
// the last, a coalesce whose branches come in different passes. An Intake takes from each row what its barrier needs; a
// Machine is the state of one barrier, which takes arrivals fold by fold and says which batches fire and which rows come out.
// A Coalescer decides when branches become one row; the engine uses it too, where branches meet in one pass.
//
// Everything is a pure function of the plan, the arrivals and the moments that callers give: no clock, no randomness, no map
// order reaches a result. So folds can be repeated, and explained, for ever. Between folds the state of a machine can be put
// away as bytes; Machine.AppendState describes their form, which begins with its version.
package barrier

import (
	"time"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// What fired a batch that is not one of a coalesce. Stored; never rename.
const (
	FiredByRows    = "rows"    // it, or all open batches, had as many rows as the trigger says
	FiredByWhen    = "when"    // the trigger's expression was true
	FiredByAfter   = "after"   // the trigger's time had passed since its first row
	FiredByEnd     = "end"     // no more rows can come; of a coalesce as well
	FiredByMemory  = "memory"  // the barrier held as much as it may
	FiredByArrival = "arrival" // it is settled as it comes: an expand, a branch that came too late, or rows for whose groups there is no room
)

// Token names one token of a run: the record of an origin, and the lane.
type Token struct {
	Lane int   // index into plan.Plan.Lanes, which also says the origin
	Row  int64 // number in the origin, from 1
}

// Arrival is a token that came to a barrier.
type Arrival struct {
	Token  Token
	Branch int     // at a coalesce: index into plan.Coalescing.Branches; else 0
	Keys   []Token // fork parents of the token's open forks, outermost first, as in plan.Lane.Context
	Row    row.Row // what the Intake made of it
}

// Loss says that a branch of a fork parent will never come to its coalesce.
type Loss struct {
	Keys   []Token // the open forks, outermost first; the last is the fork parent whose branch is lost
	Branch int     // index into the coalesce's plan.Coalescing.Branches
	Reason pipeline.Path
}

// Arrivals are what one chunk brings to a barrier. All that arrives counts as earlier than all that is lost.
type Arrivals struct {
	List   []Arrival
	Losses []Loss // only at a coalesce
}

// Settlement is what one fold did. Its rows may share memory with the arrivals of the fold.
type Settlement struct {
	Members []uint32 // per arrival: the number of its batch
	Batches []Batch  // that fired, in order
	Outs    []Out    // rows that come out, in order
	Losses  []Loss   // branches that the coalesce around the barrier loses, in order of the batches that fired
}

// Batch is a set of tokens that a barrier settled together.
type Batch struct {
	Number        uint32 // within the barrier, from 1, in order of opening
	Trigger       string // one of the FiredBy words
	Path          pipeline.Path
	Rows          int64 // tokens in it
	Opened, Fired time.Time
	Of            uint32 // of a branch that came too late: the batch that was decided without it; else 0
	Merge         *Merge // of a coalesce's decision; else nil
}

// Out is a row that comes out of a barrier.
type Out struct {
	Batch    uint32
	Parent   *Token  // the token that the row continues for, or of which it is an element; nil if it comes of many. In a settlement, those that have one come last
	Keys     []Token // fork parents of its open forks, outermost first, as in plan.Node.Context
	Row      row.Row // of a rejected one: what is known of it
	Rejected *plugin.Rejection
}

// Merge is the decision of a held coalesce over one fork parent.
type Merge struct {
	Decision
	Key     Token     // the fork parent
	Arrived []Arrived // the tokens that were merged, in order of arrival
	Wait    time.Duration
	HasOut  bool // false if no branch came, so that there is nothing to continue with
}

// Arrived is one token of a merge.
type Arrived struct {
	Branch string
	Token  Token
	At     time.Time
}
