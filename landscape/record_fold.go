package landscape

import "waymark/pipeline"

// FoldRecord is one step of a barrier: it takes the rows that came to it from one chunk, or notes that time has passed,
// or that nothing more will come. The counts are those after the fold.
type FoldRecord struct {
	Run    string   `db:"run_id,key"`
	Node   string   `db:"node,key"`
	Fold   int64    `db:"fold,key"` // from 0, without gaps; the last one is the only one of kind end
	Kind   FoldKind `db:"kind"`
	Source string   `db:"source"`           // of a chunk's fold: the chunk's; else empty
	Chunk  int64    `db:"chunk"`            // of a chunk's fold; else -1
	At     Micros   `db:"at_us"`            // the workflow's clock
	State  string   `db:"state,first,null"` // digest of the payload that holds the barrier's state; empty if none was stored
	Opened int64    `db:"opened_batches"`   // since the run began: the highest number of a batch
	Open   int64    `db:"open_batches"`     // of these, batches that have not fired
	Held   int64    `db:"held_rows"`        // tokens in batches that have not fired
	Out    int64    `db:"out_rows"`         // rows that came out of this fold

	Turn     int64  `db:"turn,first"`             // chunks of sources that had their turns before the fold
	Deadline Micros `db:"deadline_us,first,null"` // when the next batch is due after the fold; zero for none
}

// BatchRecord is a batch of a barrier that fired: its tokens ended together.
type BatchRecord struct {
	Run     string        `db:"run_id,key"`
	Node    string        `db:"node,key"`
	Batch   int64         `db:"batch,key"` // from 1, in order of opening
	Fold    int64         `db:"fold"`      // in which it fired
	Trigger string        `db:"trigger"`   // rows, when, after, end, memory, arrival; of a coalesce: all, quorum, first, lost, timeout, end
	Path    pipeline.Path `db:"path"`      // of its tokens: batch_consumed, expand_parent, coalesced or branch_not_needed
	Rows    int64         `db:"rows"`      // its tokens; 0 for a merge of which nothing came
	Opened  Micros        `db:"opened_us"`
	Fired   Micros        `db:"fired_us"`
	Of      *int64        `db:"of,null"` // of branch_not_needed: the batch for which its token came too late, if one fired
}

// MembersRecord says to which batches of a barrier the tokens of one slice of a chunk and one lane went.
type MembersRecord struct {
	Run     string `db:"run_id,key"`
	Node    string `db:"node,key"` // the barrier
	Source  string `db:"source,key"`
	Chunk   int64  `db:"chunk,key"`
	Lane    int64  `db:"lane,key"`
	Slice   int64  `db:"slice,key"` // as in chunk_rows
	Fold    int64  `db:"fold"`
	Rows    int64  `db:"rows"`    // tokens that went to the barrier, at least 1
	Batches []byte `db:"batches"` // 4 × rows of the slice, big-endian: number of the batch; 0 for a row whose token did not come here
}

// MergeKindRecord is one way in which a coalesce decided. Merges of the same kind share it.
type MergeKindRecord struct {
	Run        string      `db:"run_id,key"`
	Kind       string      `db:"kind,key"` // MergeKind.ID
	Node       string      `db:"node"`     // the coalesce
	Policy     string      `db:"policy"`   // require_all, quorum, best_effort, first
	Merge      string      `db:"merge"`    // union, nested, select
	Quorum     *int64      `db:"quorum,null"`
	TimeoutMS  *int64      `db:"timeout_ms,null"`
	Expected   string      `db:"expected"`   // JSON array of branches, in declared order
	Arrived    string      `db:"arrived"`    // JSON array of branches, in order of arrival
	Lost       string      `db:"lost"`       // JSON object: branch → path by which it was lost
	NotNeeded  string      `db:"not_needed"` // JSON array of branches that the decision did not wait for
	FiredBy    string      `db:"fired_by"`   // all, quorum, first, lost, timeout, end
	Collisions string      `db:"collisions"` // JSON array of fields on which branches disagreed
	Origins    string      `db:"origins"`    // JSON object: field → branch whose value it has
	Result     MergeResult `db:"result"`
	Code       string      `db:"code"` // why the merged token was refused; else empty
}

// MergeCodes says how the tokens of a chunk that a fork sent down branches were merged by a coalesce in the same
// passage. There is one for each chunk and merged lane, if a token was forked.
type MergeCodes struct {
	Run       string `db:"run_id,key"`
	Source    string `db:"source,key"`
	Chunk     int64  `db:"chunk,key"`
	Lane      int64  `db:"lane,key"`   // of what the coalesce made
	Rows      int64  `db:"rows"`       // of the chunk
	CodeBytes int64  `db:"code_bytes"` // 1 or 2
	// code_bytes × rows: code of the merge's kind in chunk_merges; all ones for a row that was not forked
	Codes []byte `db:"codes"`
}

// ChunkMerge is how many merges of a chunk are of a kind.
type ChunkMerge struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Lane   int64  `db:"lane,key"`
	Code   int64  `db:"code,key"`
	Kind   string `db:"kind"`
	Rows   int64  `db:"rows"`
}

// MergeRecord is one merge of a held coalesce: what it made of the branches of one fork parent. A key has at most one.
type MergeRecord struct {
	Run      string `db:"run_id,key"`
	Node     string `db:"node,key"`  // the coalesce
	Batch    int64  `db:"batch,key"` // the branches that arrived
	Kind     string `db:"kind"`
	Source   string `db:"source"`       // of the fork parent
	Lane     int64  `db:"lane"`         // of the fork parent
	Row      int64  `db:"row"`          // of the fork parent
	Arrivals string `db:"arrivals"`     // JSON array in order of arrival: branch, token (its id), offset_ms (since the first)
	WaitMS   int64  `db:"wait_ms"`      // from the first arrival to the decision
	OutRow   *int64 `db:"out_row,null"` // the merged token's row, of the coalesce's own; nil if nothing came of it
}

// ParentsRecord says what the rows of one slice of a barrier's chunk were made from.
type ParentsRecord struct {
	Run     string `db:"run_id,key"`
	Source  string `db:"source,key"` // the barrier
	Chunk   int64  `db:"chunk,key"`
	Slice   int64  `db:"slice,key"`
	Rows    int64  `db:"rows"`
	Batches []byte `db:"batches"`     // 4 × rows, big-endian: number of the batch
	Tokens  []byte `db:"tokens,null"` // 8 × rows, big-endian: lane<<48 | row of the one token that continues, or was expanded; nil if the rows have none
}
