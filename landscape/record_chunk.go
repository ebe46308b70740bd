package landscape

import (
	"cmp"
	"encoding/json"

	"waymark/plugin"
)

// HashBytes is the length of a row's hash in bytes.
const HashBytes = 32

// MaxRawBytes is how much of a refused record an error keeps.
const MaxRawBytes = 65_536

// SliceRows is how many rows of a chunk share one record of columns, the last one aside: few enough that a database
// cuts one value out of a column cheaply. Views and stored records hang on it; never change it.
const SliceRows = 1024

// ChunkKey names a chunk of a run: that of a source, or of rows that came out of a barrier.
type ChunkKey struct {
	Source string // or barrier
	Chunk  int64  // its ordinal there, from 0
}

// Compare orders chunks by their sources, and those of one by their ordinals.
func (k ChunkKey) Compare(other ChunkKey) int {
	return cmp.Or(cmp.Compare(k.Source, other.Source), cmp.Compare(k.Chunk, other.Chunk))
}

// Chunk is a consecutive slice of one origin. Rows and lines count from 1, chunks from 0. A barrier's chunk holds rows
// that came out of one fold.
type Chunk struct {
	Run         string `db:"run_id,key"`
	Source      string `db:"source,key"`
	Chunk       int64  `db:"chunk,key"`
	File        string `db:"file"`
	FirstRow    int64  `db:"first_row"` // of the source, over all its files
	Rows        int64  `db:"rows"`
	FirstLine   int64  `db:"first_line"`   // of the file
	FirstOffset int64  `db:"first_offset"` // in the file's decoded text, in bytes
	Bytes       int64  `db:"bytes"`        // of decoded text
	Blank       int64  `db:"blank"`
	Comments    int64  `db:"comments"`
	Pack        string `db:"pack"`      // digest of the payload that holds the records as read; never empty
	Cursor      string `db:"cursor"`    // JSON: where the next chunk begins
	Last        bool   `db:"last"`      // the source ends here
	Fold        *int64 `db:"fold,null"` // of a barrier: the fold whose rows these are; nil for a source's
	Attempt     int64  `db:"attempt,first"`
	Read        Micros `db:"read_us,first"` // set by Log
}

// Key returns the chunk's key in its run.
func (c Chunk) Key() ChunkKey { return ChunkKey{c.Source, c.Chunk} }

// End reads where the chunk ends, which is where the next one of its source begins.
func (c Chunk) End() (plugin.Cursor, error) {
	var end plugin.Cursor
	return end, json.Unmarshal([]byte(c.Cursor), &end)
}

// ChunkRowsRecord is where the records of one slice of a chunk are, in columns of big-endian numbers.
type ChunkRowsRecord struct {
	Run       string `db:"run_id,key"`
	Source    string `db:"source,key"`
	Chunk     int64  `db:"chunk,key"`
	Slice     int64  `db:"slice,key"` // from 0: rows Slice × SliceRows on of the chunk
	Rows      int64  `db:"rows"`
	Offsets   []byte `db:"offsets"`    // 4 × rows: of the record in the pack's data
	Lengths   []byte `db:"lengths"`    // 4 × rows
	Lines     []byte `db:"lines,null"` // 4 × rows: counted from the chunk's first line; nil: one line each
	RawHashes []byte `db:"raw_hashes"` // 32 × rows: SHA-256 of the record as read
}

// PassageRecord says that a chunk went through the steps, and which way its tokens of one lane took. Every chunk that did
// has one for its root lane; the other lanes have one if the chunk has a token there.
type PassageRecord struct {
	Run       string `db:"run_id,key"`
	Source    string `db:"source,key"`
	Chunk     int64  `db:"chunk,key"`
	Lane      int64  `db:"lane,key"`
	Rows      int64  `db:"rows"`       // of the chunk
	CodeBytes int64  `db:"code_bytes"` // 1 or 2
	WayCodes  []byte `db:"way_codes"`  // code_bytes × rows: code of the token's way in chunk_ways; all ones for a row without a token, but not in a root lane
	Started   Micros `db:"started_us,first"`
	Finished  Micros `db:"finished_us,first"`
	Attempt   int64  `db:"attempt,first"`
	Worker    string `db:"worker,first"`
}

// WayRecord is one way that tokens of a run took.
type WayRecord struct {
	Run       string `db:"run_id,key"`
	Way       string `db:"way,key"` // Way.ID
	Signature string `db:"signature"`
	Outcome   string `db:"outcome"` // empty for the path buffered: the batch says it
	Path      string `db:"path"`
	LastNode  string `db:"last_node"` // the node that ended the token, or sent it to the sink
	Sink      string `db:"sink"`
	Lane      int64  `db:"lane"`      // of its tokens
	FirstSeq  int64  `db:"first_seq"` // number of the first step that is the token's own: those before it are its fork parent's
}

// WayStepRecord is one step of a way. The sink that confirmed the token, if any, is the last step.
type WayStepRecord struct {
	Run   string `db:"run_id,key"`
	Way   string `db:"way,key"`
	Seq   int64  `db:"seq,key"` // 0 is the origin, or the coalesce that made the token
	Node  string `db:"node"`
	Label string `db:"label"`
	Lane  int64  `db:"lane"` // in which the step was done
}

// ChunkWayRecord is how many tokens of a chunk took a way.
type ChunkWayRecord struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Lane   int64  `db:"lane,key"`
	Code   int64  `db:"code,key"`
	Way    string `db:"way"`
	Rows   int64  `db:"rows"`
}

// HashesRecord holds the output hashes of one slice of a chunk's tokens of one lane at one node, if there are any. Dense (slots nil):
// one hash per row of the slice, 32 zero bytes for a row that has none. Sparse: slots has 2 big-endian bytes per row of
// the slice, 0 for none or 1 + the index in hashes.
type HashesRecord struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Lane   int64  `db:"lane,key"`
	Node   string `db:"node,key"`
	Slice  int64  `db:"slice,key"`
	Rows   int64  `db:"rows"` // that have a hash here
	Slots  []byte `db:"slots,null"`
	Hashes []byte `db:"hashes"`
}

// KeyHashes is a look-up column for one business-key field: 4 bytes per row of the chunk, the first of the SHA-256 of
// the canonical bytes of the value's key, which equal values share, zero for a row that the source refused.
type KeyHashes struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Field  string `db:"field,key"`
	Hashes []byte `db:"hashes"`
}

// ErrorKey names why one token was refused at one node.
type ErrorKey struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Row    int64  `db:"row,key"`
	Lane   int64  `db:"lane,key"`
	Node   string `db:"node,key"`
}

// ErrorHead is a RowError without the record.
type ErrorHead struct {
	ErrorKey
	Chunk   int64  `db:"chunk"`
	Code    string `db:"code"`
	Field   string `db:"field"`
	Message string `db:"message"`
	Line    int64  `db:"line"`
	SentTo  string `db:"sent_to"` // a sink, pipeline.QuarantineSink or pipeline.DiscardSink
}

// Table returns errors.
func (ErrorHead) Table() string { return "errors" }

// RowError is why one token was refused at one node.
type RowError struct {
	ErrorHead
	ErrorHash  string `db:"error_hash"`  // hex SHA-256 of node|code|field|message
	Raw        []byte `db:"raw"`         // the record as read, at most MaxRawBytes of it
	RawIsText  bool   `db:"raw_is_text"` // raw is valid UTF-8 without NUL
	RawBytes   int64  `db:"raw_bytes"`   // its full length
	ByteOffset int64  `db:"byte_offset"` // in the file's decoded text
	At         Micros `db:"at_us,first"`
}

// RepeatsRecord says of which tokens those of one slice of a chunk are repeats that a deduplicate dropped, if it dropped any.
type RepeatsRecord struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Lane   int64  `db:"lane,key"`
	Node   string `db:"node,key"` // the deduplicate
	Slice  int64  `db:"slice,key"`
	Rows   int64  `db:"rows"`   // that it dropped
	Firsts []byte `db:"firsts"` // 8 × rows of the slice: 2 of the lane and 6 of the row of the first token with the key; zero for a row that was not dropped
}

// FeedRecord says that a chunk brought something to a barrier: tokens, or the news that a branch is lost.
type FeedRecord struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Node   string `db:"node,key"` // the barrier
}
