package landscape

import (
	"time"

	"waymark/pipeline"
)

// Fold is one step of a barrier, with everything that came of it.
type Fold struct {
	Run      string
	Node     string // the barrier
	Fold     int64  // from 0, without gaps
	Kind     FoldKind
	Source   string // of a ChunkFold: the origin of the chunk; else empty
	Chunk    int64  // of a ChunkFold; else ignored
	At       Micros // the workflow's clock; the same whenever the fold is repeated
	State    string // digest of the payload that holds the barrier's state after the fold; empty if none is kept
	Turn     int64  // chunks of sources that had their turns before the fold
	Deadline Micros // when the barrier's next batch is due after the fold; zero for none
	Arrivals []LaneMembers
	Batches  []FiredBatch   // that fired, in order; no number twice
	Derived  []DerivedChunk // what came out, in order
}

// LaneMembers are the tokens of one lane of the fold's chunk that came to the barrier.
type LaneMembers struct {
	Lane    int64
	Batches []uint32 // per row of the chunk: number of the token's batch; 0 for a row whose token did not come
}

// FiredBatch is a batch that fired.
type FiredBatch struct {
	Batch   int64 // from 1, in order of opening
	Trigger string
	Path    pipeline.Path // BatchConsumed, ExpandParent, Coalesced or BranchNotNeeded
	Rows    int64         // its tokens
	Opened  Micros
	Fired   Micros
	Of      int64  // of BranchNotNeeded: the batch for which its token came too late; 0 if there is none
	Merge   *Merge // of Coalesced; else nil
}

// Merge is what a coalesce made of the branches of one fork parent.
type Merge struct {
	Kind     MergeKind
	Key      Token          // the fork parent
	Arrivals []MergeArrival // the branches that arrived, in order of arrival, as in Kind.Arrived
	Wait     time.Duration  // from the first arrival to the decision
	OutRow   int64          // the merged token's row, of a held coalesce's own; 0 if nothing came of it, or it is not held
}

// MergeArrival is a branch that arrived.
type MergeArrival struct {
	Branch string
	Token  Token
	Offset time.Duration // since the first arrival
}

// DerivedChunk is rows that came out of a barrier, stored as a source's records are.
type DerivedChunk struct {
	Chunk   Chunk // Fold is set by Log
	Records Records
	Batches []uint32 // per row: the batch that it came from
	Parents []Token  // per row: the one token that continues in it, or was expanded; nil if rows have none. Source is ignored: the lane says it
}
