package graphs

import (
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// Input is what a run reads: the records of each source in chunks, and the rows of each lookup's table.
type Input struct {
	Sources map[string][][]Record
	Tables  map[string][]row.Row // by the name of the lookup step
}

// Record is one record of a source: its row, or why the source refused it.
type Record struct {
	Row     row.Row
	Refused *Refusal
}

// Refusal is why a row was refused, without the sentence for people.
type Refusal struct {
	Code  string
	Field string // "" if no field is at fault
}

// Result is everything that a run leaves. Refused rows and tokens are named by ids as in the landscape.
type Result struct {
	Lines   map[string][]string  // of each sink that takes rows: JSON lines in order, without line ends; nil if none
	Refused map[string][]Refused // of each sink that takes refused rows, in order
	Nodes   map[string]*Counts   // of each source, step and sink
	Tokens  map[string]*Token    // by id
	Merges  []*Merge             // by coalesce, in order of the decisions
	Batches []*Batch             // by barrier, in order of firing; without those of coalesces
}

// Refused is a refused row as a sink of refused rows gets it, without the columns that quote text.
type Refused struct {
	Source string // or barrier
	Row    int64  // number in the source, from 1
	Node   string // that refused it
	Refusal
}

// Counts are the rows of one node: In + Created = Out + Dropped + Diverted + Consumed.
type Counts struct {
	In       int // came to it; of a source, were read
	Created  int // began here: branches of a fork, merged rows, rows that come out of a barrier
	Out      int // left it; of a sink, were written
	Dropped  int // by a filter, a sample, a deduplicate, an empty list or a gate's discard
	Diverted int // were refused
	Consumed int // ended here and became part of something: fork parents, members of batches, branches
}

// Token is a row at a place in the graph.
type Token struct {
	ID      string        // orders:17, orders:17/branch, by_state:3
	Source  string        // or barrier
	Number  int64         // of its record there, from 1
	Lane    string        // the part of the id behind the slash; "" of the record itself
	Path    pipeline.Path // how it ended
	Node    string        // where it ended
	Sink    string        // that got it or its refusal; "" if none did
	Refused *Refusal      // nil if it was not refused
	Row     row.Row       // when it ended
	Parents []string      // tokens it was made of, in order
}

// Merge is one decision of a coalesce.
type Merge struct {
	Node       string
	Key        string // id of the token that was forked
	Merged     string // id of the merged token, "" if nothing came of it
	Policy     string
	Expected   []string  // branches, in declared order
	Arrived    []Arrived // before the decision, in order of arrival
	Lost       []LostOne // known to be lost when it was decided, in declared order
	NotNeeded  []string  // branches that were outstanding when it was decided, in declared order
	FiredBy    string    // all, quorum, first or lost
	Held       bool      // it waited for branches of several turns
	Result     string    // merged, refused or nothing
	Code       string    // of a refused one
	Collisions []string  // fields, in order of first appearance; only of a union
}

// Arrived is a branch that came to a coalesce.
type Arrived struct {
	Branch string
	Token  string
}

// LostOne is a branch that will never come, and why.
type LostOne struct {
	Branch string
	Reason pipeline.Path
}

// Batch is what a barrier settled together.
type Batch struct {
	Node    string
	Trigger string // rows, when, end or arrival
	Path    pipeline.Path
	Members []string // ids in order of arrival
	Outs    []string // ids of what came out, in order
}
