package landscape

import "waymark/landscape/seal"

// Passage is everything that happened to the rows of one chunk between its origin and its sinks and barriers.
type Passage struct {
	Run      string
	Source   string // the origin
	Chunk    int64
	Lanes    []LaneRoutes   // the root lane, and every lane in which the chunk has a token; in any order
	Hashes   []NodeHashes   // one entry per lane and node with OwnHashes that at least one token left there
	Keys     []KeyColumn    // one per field of the source's business key
	Errors   []Rejection    // one per token whose way is a failure; in any order
	Writes   []Write        // one per sink that gets at least one row
	Repeats  []RepeatColumn // one per lane and deduplicate that dropped at least one token
	Merges   []LaneMerges   // one per lane of a coalesce in this passage over a fork that took place
	Fields   []FieldValues  // that can be disclosed, of the rows that reached a sink which declares some; by lane and sink
	Feeds    []string       // the barriers to which tokens came, or the news that a branch is lost; in any order
	Started  Micros
	Finished Micros
	Attempt  int64
	Worker   string
}

// FieldValues are the values that can be disclosed of the rows that one sink got in one lane.
type FieldValues = seal.Fields

// LaneRoutes is which way each token of one lane of a chunk took.
type LaneRoutes struct {
	Lane  int64
	Ways  []Way    // each taken by at least one token, no two the same
	Codes []uint16 // per row of the chunk: index into Ways, or NoToken; every row has a token in a root lane
	Sums  []WaySum // of the run's totals; in any order
}

// NodeHashes are the output hashes of one node: the SHA-256 of each row's canonical bytes as it left the node.
type NodeHashes struct {
	Lane   int64
	Node   string
	Hashes []byte // 32 bytes per row of the chunk; zero for a row that did not leave the node in this lane
}

// KeyColumn is one field of the business key: per row of the chunk the first 4 bytes of the SHA-256 of the value's
// canonical bytes, zero for a row that the source refused.
type KeyColumn struct {
	Field  string
	Hashes []byte
}

// RepeatColumn says of which tokens those are repeats that a deduplicate dropped in one lane.
type RepeatColumn struct {
	Lane   int64
	Node   string
	Firsts []Token // per row of the chunk the first token with the key; the zero token for a row that was not dropped
}

// Rejection is why one token was refused. In a passage, the node and the sink are those of the token's way; with the end of a write,
// the node is the write's sink, and the row is kept in quarantine.
type Rejection struct {
	Lane    int64
	Index   int // of the row in the chunk
	Code    string
	Field   string
	Message string
	Raw     []byte // the record as read; Log keeps the first MaxRawBytes of it
	Bytes   int64  // full length of the record
	Line    int64
	Offset  int64 // in the file's decoded text, in bytes

	Amounts []RowAmount // with the end of a write: one for each total of the document; nil if it has none
}

// RowAmount is what a total comes to, of one row.
type RowAmount struct {
	Total      string
	Amount     string // decimal, as amount.Sum writes it; 0 if the row is not one that has an amount
	Unreadable bool   // it cannot be read; Amount is 0
}

// Write is the planned write of a chunk's rows to one sink.
type Write struct {
	Sink   string
	Bytes  int64
	SHA256 string // hex, of the bytes
	Beyond string // a stored schema.Schema: what the rows have beyond what is known of them before they are written; empty if nothing
}

// LaneMerges is what a coalesce made of the branches of each row that was forked.
type LaneMerges struct {
	Lane  int64       // of the merged tokens
	Kinds []MergeKind // each of at least one merge, no two the same
	Codes []uint16    // per row of the chunk: index into Kinds; NoToken for a row that was not forked
}
