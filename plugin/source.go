// Package plugin holds the contracts between the engine and what reads, and writes, the outside world. The
// plugins are in folders of their own; package worker/formats lists them.
package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// A Source reads records and parses them. It is made from one entry of a document's sources and is safe for concurrent
// use; Readers and Parsers are not.
type Source interface {
	// Determinism says what a repeated read depends on.
	Determinism() pipeline.Determinism
	// Fields returns the declared fields of the typed rows in the order in which rows carry them, and whether rows may
	// carry others after these (flexible and observed schemas).
	Fields() (declared []pipeline.Named[pipeline.Field], open bool)
	// Stat describes what there is to read, before anything is read. It fails with a *SourceError if the source cannot
	// be read as declared, and with any other error if the world is at fault and a later try may work.
	Stat(ctx context.Context) (SourceInfo, error)
	// Open returns a Reader that continues at the cursor; the zero Cursor is the beginning. pin is what Stat returned when
	// the run began: a source that is no longer the same is a *SourceError with code SOURCE_CHANGED. Of files that a trigger brought, those that are
	// read must be the same, whatever else is there.
	Open(ctx context.Context, at Cursor, pin SourceInfo) (Reader, error)
	// Parser returns a parser for records of chunks with this Context.
	Parser(context []byte) (Parser, error)
}

// Versioned is what a Source or Sink may be as well. A plugin raises its version when the bytes that it gives for the same
// input change: a run that began with one version is not continued with in another.
type Versioned interface {
	// Version returns the version, from 1. A plugin without one has version 1.
	Version() int
}

// VersionOf returns the version of a Source or Sink: 1 if it does not say.
func VersionOf(plugged any) int {
	if versioned, ok := plugged.(Versioned); ok {
		return versioned.Version()
	}
	return 1
}

// SourceInfo pins a source: two equal values mean that it holds the same bytes as far as can be known without reading.
type SourceInfo struct {
	Files []FileInfo `json:"files"`          // in reading order; empty for a source that matched nothing
	List  string     `json:"list,omitempty"` // of a source that reads records again: digest of the payload that lists them

	Trigger string `json:"trigger,omitempty"` // of a source that reads what arrived: id of the trigger that brought the files, in the order in which they arrived

	Outputs []OutputOf `json:"outputs,omitempty"` // of a source that reads what another pipeline published: which output each of the files is of, in their order

	Skipped []string `json:"skipped,omitempty"` // symbolic links that the pattern matched, and that lead to nothing that may be read
}

// OutputOf says of which published output a file is. The zero value is that of a file that no run is known to have published.
type OutputOf struct {
	Run    string `json:"run"`
	Sink   string `json:"sink"`
	SHA256 string `json:"sha256"` // lower-case hex, of the file as the run wrote it: what is read must have it
}

// HeadChecker is what a Source may be as well: one whose files begin, or end, with what they hold, such as a header.
type HeadChecker interface {
	// CheckHead fails as a Reader does that comes to a file, one of those that Stat returned, and reads no more of it than that needs.
	CheckHead(ctx context.Context, file FileInfo) error
}

// Watched is what a Source may be as well: one of files that arrive.
type Watched interface {
	// Look describes what is there, in bytewise order of the paths: what Open may get as the files of a pin with a Trigger. It is empty if nothing is there. Files that
	// come or go meanwhile may be left out. What is no file that a run could read, such as a folder or a link that leads nowhere, is left out as well, and left has an
	// error about each; nil if there is none. The error says why nobody can look, for example that the folder is not there.
	Look(ctx context.Context) (files []FileInfo, left []error, err error)
	// Parts describes the parts of an output that was published in parts under a path, in their order, and returns the digest of the manifest as an Artifact has it. There
	// are none, and no error, if no manifest of Waymark is there.
	Parts(ctx context.Context, path string) (parts []OutputPart, manifest string, err error)
}

// Growing is what a Source may be as well: one of rows that are added, or change, as time goes by.
type Growing interface {
	// Grown returns the first rows after a position that no row can come before any more, in the order of the columns that the trigger names. after is UpTo of what it
	// returned before; nil for the first rows of all. Its errors are as those of Stat.
	Grown(ctx context.Context, trigger pipeline.RowTrigger, after []string) (Growth, error)
}

// RowsScheme begins the path of rows that a trigger found in a table; the id of the trigger and a number follow. Stored; never rename.
const RowsScheme = "rows://"

// Growth is rows that follow each other.
type Growth struct {
	Records Chunk    // empty if there are none
	UpTo    []string // what the last row has in the columns that the trigger names, as texts
	More    bool     // there may be others already
}

// Requestable is what a Source may be as well: one whose rows may come with the request for a run.
type Requestable interface {
	// Requested describes the rows that came with the request for a run: what Open may get as the only file of a pin. Open reads nothing that came with another request.
	Requested(run string, rows RequestRows) FileInfo
}

// RequestRows are rows of one source that came with the request for a run, and that a payload holds.
type RequestRows struct {
	Source  string `json:"source"`
	Payload string `json:"payload"` // its digest
	SHA256  string `json:"sha256"`  // lower-case hex, of the rows as the payload holds them
	Rows    int64  `json:"rows"`
	Bytes   int64  `json:"bytes"` // of the rows as the payload holds them
}

// OutputPart is one part of a published output.
type OutputPart struct {
	Path   string // as Look has it
	SHA256 string // lower-case hex, of the file
}

// OnHost is what a Source or Sink may be as well: one that reads or writes what only workers that see the same files can reach,
// if OnHost returns true. Without it a Source or Sink can be reached from everywhere.
type OnHost interface {
	OnHost() bool
}

// FileInfo describes one file of a source, or what stands for one: an object, a page, a table. Bytes and ModifiedMicros are
// those of the file itself, not decompressed; 0 if they are not known.
type FileInfo struct {
	Path           string `json:"path"` // or a URI without secrets
	Bytes          int64  `json:"bytes"`
	ModifiedMicros int64  `json:"modified_micros"`   // Unix time in microseconds
	Target         string `json:"target,omitempty"`  // of a symbolic link that is followed: the path of the file that it leads to
	Version        string `json:"version,omitempty"` // of an object: its ETag or version; of a table: a digest of its columns; of a file that arrived: its inode
}

// Cursor says where the next chunk begins. It is small (under 1 KiB as JSON), travels through workflow history, and holds
// no row data. The zero Cursor is the beginning of the source.
type Cursor struct {
	File    int    `json:"file"`              // index into SourceInfo.Files
	Offset  int64  `json:"offset"`            // in the file's decoded text: after decompression and conversion to UTF-8
	Line    int64  `json:"line"`              // physical lines before Offset
	Row     int64  `json:"row"`               // records of this source before Offset, over all files
	Digest  []byte `json:"digest,omitempty"`  // SHA-256 of the own bytes before Offset, or its state after the last whole block; nil if it is not carried
	State   string `json:"state,omitempty"`   // of a format whose chunks end within a line: what comes next
	Context []byte `json:"context,omitempty"` // header record of the current file, if the format has one and it is short
}

// Limits bound one chunk.
type Limits struct {
	Rows  int // at least 1
	Bytes int // a chunk ends after the record that reaches it
}

// A Reader reads one source in order, chunk by chunk.
type Reader interface {
	// Next reads the records of the next chunk into c, which it resets and whose memory it reuses. A chunk never spans
	// two files and holds at least one record or counted line, except that the last chunk of a source may hold none. At
	// the end of the source it returns io.EOF and c holds nothing. After any other error the Reader is of no more use;
	// a *SourceError is final, other errors may pass.
	Next(ctx context.Context, limits Limits, c *Chunk) error
	// Cursor returns where the next chunk begins.
	Cursor() Cursor
	// Digests returns the lower-case hex SHA-256 of the own bytes of every file that was read to its end, by this Reader or
	// by earlier ones, in reading order. Its errors are as those of Next.
	Digests(ctx context.Context) ([]string, error)
	Close() error
}

// Seeker is what a Reader may be as well.
type Seeker interface {
	// Seeks reports whether another Reader can begin at Cursor without reading what comes before. It is false as long
	// as nothing was read.
	Seeks() bool
}

// Chunk is a consecutive slice of one file of a source, as read: record i is Data[Offsets[i]:Offsets[i]+Lengths[i]],
// without its line end. Offsets ascend.
type Chunk struct {
	Data    []byte
	Offsets []uint32
	Lengths []uint32
	Lines   []uint32 // physical line of record i, counted from FirstLine; nil if record i is on line FirstLine+i
	Bad     []BadRecord
	Cells   Cells
	Context []byte // what a Parser needs besides the record, such as the CSV header record; may be empty

	File        string // its path, as in SourceInfo.Files
	FirstRow    int64  // number of the first record in the source: the first record of all is 1
	FirstLine   int64  // physical line of Offset 0 of Data in the file, from 1
	FirstOffset int64  // of Data in the file's decoded text, in bytes
	Blank       int    // blank lines in the chunk: counted, not rows
	Comments    int    // comment lines in the chunk: counted, not rows
}

// Len returns the number of records.
func (c *Chunk) Len() int { return len(c.Offsets) }

// Record returns the bytes of record i. They belong to the chunk.
func (c *Chunk) Record(i int) []byte {
	return c.Data[c.Offsets[i] : c.Offsets[i]+c.Lengths[i]]
}

// Line returns the physical line in the file on which record i begins, from 1.
func (c *Chunk) Line(i int) int64 {
	if c.Lines == nil {
		return c.FirstLine + int64(i)
	}
	return c.FirstLine + int64(c.Lines[i])
}

// Reset empties c and keeps its memory.
func (c *Chunk) Reset() {
	cells := Cells{Kinds: c.Cells.Kinds[:0], Values: c.Cells.Values[:0]}
	*c = Chunk{Data: c.Data[:0], Offsets: c.Offsets[:0], Lengths: c.Lengths[:0], Bad: c.Bad[:0], Cells: cells}
}

// RowTooLarge is the code of a BadRecord that is over the limit of a record: its bytes may be the first ones only. Stored;
// never rename.
const RowTooLarge = "ROW_TOO_LARGE"

// BadRecord marks a record that could not be separated from the next or is over a limit: it is rejected without parsing.
type BadRecord struct {
	Index int // of the record in the chunk; ascending
	Rejection
}

// A Parser turns the bytes of one record into typed values. It is not safe for concurrent use.
type Parser interface {
	// Parse parses a record. The values are appended to values[:0] and may share text's memory, so that text must stay
	// unchanged as long as they are used. The error is a *Rejection if the record does not satisfy the schema; there is
	// no other error. Parsing is deterministic: the same text gives equal values for ever.
	Parse(text string, values []row.Value) (row.Row, error)
}

// A Rejection says why a row was rejected. It is a result, not a failure: the row is quarantined or routed, the run continues.
type Rejection struct {
	Code    string // a stored word such as FIELD_COUNT, CONVERT, NO_SUCH_KEY; never rename one
	Field   string // the field at fault, or ""
	Message string // one sentence for people; holds no more than 64 bytes of the row, in double quotes, control characters escaped
}

// Error returns code, field and message.
func (r *Rejection) Error() string {
	if r.Field == "" {
		return r.Code + ": " + r.Message
	}
	return r.Code + ": " + r.Field + ": " + r.Message
}

// maxMessageBytes bounds the Message of a Rejection that repeats what somebody else says.
const maxMessageBytes = 200

// Brief returns the beginning of a text as a Rejection's Message may be: whole characters, valid UTF-8.
func Brief(text string) string { return strings.ToValidUTF8(row.Clip(text, maxMessageBytes), "") }

// SourceError is a fault of a source that no retry cures: the run stops, named, and can be resumed once it is mended.
type SourceError struct {
	Code    string // a stored word such as SOURCE_CHANGED, EMPTY_SOURCE, ENCODING, HEADER_MISMATCH; never rename one
	File    string
	Line    int64 // 0 if it is not about one line
	Message string
}

// Error returns file, line, code and message.
func (e *SourceError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", e.File, e.Code, e.Message)
}

// NewRun reports whether the cure changes the document or the source, so that the run cannot go on: true, unless the fault is that
// the source cannot be reached, or is not what it was.
func (e *SourceError) NewRun() bool {
	return !slices.Contains([]string{
		"NOT_FOUND", "NO_PERMISSION", "PATH_REFUSED", "EGRESS_DENIED", "REQUEST_REFUSED", "SOURCE_CHANGED",
	}, e.Code)
}
