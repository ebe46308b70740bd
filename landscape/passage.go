package landscape

// Routes is which way each row of a chunk took.
type Routes struct {
	Run      string
	Source   string
	Chunk    int64
	Ways     []Way    // each taken by at least one row, no two the same
	Codes    []uint16 // per row of the chunk: index into Ways
	Started  Micros
	Finished Micros
	Attempt  int64
	Worker   string
}

// Passage is everything that happened to the rows of one chunk between its source and its sinks.
type Passage struct {
	Routes
	Hashes []NodeHashes // one entry per node with OwnHashes that at least one row left
	Keys   []KeyColumn  // one per field of the source's business key
	Errors []Refusal    // one per row whose way is a failure, in row order
	Writes []Write      // one per sink that gets at least one row
}

// NodeHashes are the output hashes of one node: the SHA-256 of each row's canonical bytes as it left the node.
type NodeHashes struct {
	Node   string
	Hashes []byte // 32 bytes per row of the chunk; zero for a row that did not leave the node
}

// KeyColumn is one field of the business key: per row of the chunk the first 4 bytes of the SHA-256 of the value's
// canonical bytes, zero for a row that the source refused.
type KeyColumn struct {
	Field  string
	Hashes []byte
}

// Refusal is why one row was refused. The node and the sink are those of the row's way.
type Refusal struct {
	Index   int // of the row in the chunk
	Code    string
	Field   string
	Message string
	Raw     []byte // the record as read; Log keeps the first MaxRawBytes of it
	Bytes   int64  // full length of the record
	Line    int64
	Offset  int64 // in the file's decoded text, in bytes
}

// Write is the planned write of a chunk's rows to one sink.
type Write struct {
	Sink   string
	Bytes  int64
	SHA256 string // hex, of the bytes
}
