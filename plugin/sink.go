package plugin

import (
	"context"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// A Guarantee is what a sink promises about repeats after a crash. Stored; never rename.
type Guarantee string

// The guarantees.
const (
	Transactional Guarantee = "transactional" // a ledger row in the target's own transaction
	Idempotent    Guarantee = "idempotent"    // deterministic identity: a repeat writes the same bytes to the same place
	Reconcilable  Guarantee = "reconcilable"  // the target can be asked for an exact answer
	AtLeastOnce   Guarantee = "at_least_once" // a repeat may write twice
)

// A Sink encodes rows and writes them. It is made from one entry of a document's sinks and is safe for concurrent use;
// its Encoders are not.
type Sink interface {
	Determinism() pipeline.Determinism
	Guarantee() Guarantee
	// Encoder returns an encoder for rows with these fields. open says that rows may carry other fields as well. The
	// error says why such rows cannot be written and how to cure it.
	Encoder(fields []string, open bool) (Encoder, error)
	// Target returns the place that the sink of this run writes to. run is the run's id; it names temporary files.
	Target(run string) Target
	// Location names the place for people: a path or a URI without secrets.
	Location() string
	// Exclusive names the place, without secrets, if one run at a time may write there; "" if several runs may. Sinks of the same place return the same,
	// however a path leads there; names of hosts are not looked up.
	Exclusive() string
}

// Typed is what a Sink may be as well: one of a place or a format that has types, whose encoders need those of the fields.
type Typed interface {
	// TypedEncoder is called instead of Encoder, and promises the same.
	TypedEncoder(fields []Field, open bool) (Encoder, error)
}

// Field is a declared field of the rows that reach a sink.
type Field struct {
	Name     string
	Kind     row.Kind
	Optional bool // its value may be null
}

// An Encoder turns rows into the sink's bytes. It is deterministic: no clock, no randomness, no map order.
type Encoder interface {
	// Header returns the bytes before the first row; empty if the format has none. The slice belongs to the encoder.
	Header() []byte
	// Append appends the encoded row to dst and returns it. On a *Rejection dst is returned as it was; there is no other
	// error.
	Append(dst []byte, r row.Row) ([]byte, error)
}

// A Tabular is an Encoder that writes the same columns of every row.
type Tabular interface {
	Encoder
	// Columns returns them in order, with the kind of the values that each takes; row.Null if it takes those of any. Optional says
	// that null is one.
	Columns() []Field
}

// A Finisher is an Encoder of a format whose bytes are only known when all rows of a part are: Append gathers rows in a form of
// its own, and Finish turns what was gathered into the part's bytes.
type Finisher interface {
	Encoder
	// Finish returns the bytes of the part whose rows were appended to rows, one after the other from an empty slice. rows is
	// not empty, and may be reused. The error says why such rows cannot be written; no retry cures it.
	Finish(rows []byte) ([]byte, error)
}

// Part is one chunk's bytes for one sink, with the place where they belong.
type Part struct {
	Ordinal int64 // of the part within the sink, from 0, without gaps
	Offset  int64 // of the first byte in the whole output, the header included
	Bytes   int64
	Rows    int64
	SHA256  [32]byte
}

// Applied is a target's answer about one part.
type Applied int

// The answers.
const (
	NotApplied Applied = iota // the target does not hold the part
	Exactly                   // the target holds exactly these bytes
	Unknown                   // the target cannot tell: nobody may guess
)

// A Target is the place one run's sink writes to. Parts may come in any order and twice, also from two processes at once:
// the same part always has the same bytes and the same place, so a repeat changes nothing. Errors that a retry cannot
// cure are *TargetErrors.
type Target interface {
	// Open makes the place ready and writes the header. It rejects, with a *TargetError TARGET_EXISTS, a place that
	// holds something the document does not allow to overwrite. It may be repeated.
	//
	// made reports whether it was this call, and no earlier or concurrent one, that made what Discard removes, also where
	// the call then failed. So an attempt that comes too late can take back what it alone brought about.
	Open(ctx context.Context, header []byte) (made bool, err error)
	// Write makes the part durable before it returns nil. After an error the part may or may not be there.
	Write(ctx context.Context, part Part, data []byte) error
	// Check says whether the part is there.
	Check(ctx context.Context, part Part) (Applied, error)
	// Publish makes the whole output visible under its name, at once and complete, after it made sure that the output is
	// exactly the header and these parts. It may be repeated, also after the output became visible.
	Publish(ctx context.Context, header []byte, parts []Part) (Artifact, error)
	// Verify reads the published output again and describes it, without changing anything. It fails with a *TargetError if
	// the output is missing or is not exactly the header and these parts.
	Verify(ctx context.Context, header []byte, parts []Part) (Artifact, error)
	// Discard removes what was not published. It may be repeated.
	Discard(ctx context.Context) error
}

// A RowRejecter is a Target that may take a part without some of its rows, because the place rejects them: for a constraint, a type,
// a length. These rows are quarantined; the part counts as written without them.
type RowRejecter interface {
	Target
	// Rejected returns the rows that the target rejected of a part that it holds, ascending by Row; nil if it took all. The
	// answer is the same for ever. It fails if the target does not hold the part.
	Rejected(ctx context.Context, part Part) ([]RejectedRow, error)
}

// A Prober is a Target that can find out whether a run could write there, without beginning one.
type Prober interface {
	Target
	// Probe fails as Open would. It leaves nothing behind.
	Probe(ctx context.Context, header []byte) error
}

// RejectedRow is a row of a part that the target rejected.
type RejectedRow struct {
	Row int64 // its number within the part, from 0
	Rejection
}

// A Stager is a Target that keeps what is written apart until it is published.
type Stager interface {
	Target
	// CheckStaged makes sure that what is there is exactly the header and these parts, as Publish does, and fails as Publish would. It
	// changes nothing. It may be repeated, also after the output became visible.
	CheckStaged(ctx context.Context, header []byte, parts []Part) error
}

// Artifact is what a sink published.
type Artifact struct {
	Path   string `json:"path"` // as a user would open it: a path, or a URI without secrets
	Bytes  int64  `json:"bytes"`
	Rows   int64  `json:"rows"`   // that the place holds: without those that it rejected
	SHA256 string `json:"sha256"` // lower-case hex, of the file; of the manifest for an output in parts; of the parts' digests, in order, for a table
}

// TargetError is a fault of a target that no retry cures.
type TargetError struct {
	Code    string // a stored word such as TARGET_EXISTS, TARGET_CHANGED, TARGET_REFUSED; never rename one
	Target  string
	Message string
}

// Error returns target, code and message.
func (e *TargetError) Error() string { return e.Target + ": " + e.Code + ": " + e.Message }

// InOrder is what a Sink may be as well: one whose result depends on the order in which its parts are written, if InOrder returns
// true. They are written one after the other then, in the order of their ordinals. Others are written side by side.
type InOrder interface {
	InOrder() bool
}
