package plugin

import (
	"bytes"
	"context"
)

// An Attester is a Target that can say of each piece of a published output whether it is still as the run wrote it.
type Attester interface {
	Target
	// Attest reads a published output again, piece by piece, and compares it with what the run wrote. It changes nothing. What is gone, or is not as it was
	// written, is a result; the error says that the place could not be looked at.
	Attest(ctx context.Context, written Written) (Condition, error)
}

// Written is what a run wrote to a place.
type Written struct {
	Artifact Artifact // as it was published
	Header   []byte
	Parts    []Part          // of the whole output, by ordinal
	Refused  map[int64]int64 // by the ordinal of a part: how many of its rows the target refused, so that they are not in the output
	Look     func(Part) bool // whether a part is looked at
	Lines    bool            // the bytes of a part are lines of text
	// Data returns the bytes of a part, which are computed again. An error says why they are not to be had.
	Data func(context.Context, Part) ([]byte, error)
	// Rows returns the rows of a part, as Data does, also if some of them were forgotten. Only places ask for it that know rows; if it is nil, all are in Data.
	Rows func(context.Context, Part) (PartRows, error)
	// Later returns what others wrote to the same place since, the newest first. Only places ask for it in which what several runs wrote can be.
	Later func(context.Context) ([]WrittenBy, error)
	// Others returns the other outputs that were published at the same place, before or since. Only places ask for it in which nothing tells what one run wrote
	// from what another did.
	Others func(context.Context) ([]WrittenBy, error)
}

// WrittenBy is what a run wrote.
type WrittenBy struct {
	Run  string
	Sink string
	Written
}

// State is what became of a piece of an output. Stored; never rename.
type State string

// The states.
const (
	AsWritten State = "equal"
	Changed   State = "changed"
	Missing   State = "missing"
	Replaced  State = "replaced" // by another run
	NotKnown  State = "unknown"
)

// Units are what a Condition counts. Stored; never rename.
const (
	Pieces = "pieces" // the parts, and one more: header, size, manifest, and what else is beside them
	Rows   = "rows"   // the rows, and one more: what is recorded of them at the place
)

// MaxFindings is how many Findings a Condition has at most: the first ones.
const MaxFindings = 20

// Condition is in what condition an output is. Equal, Changed, Missing, Replaced and Unknown make LookedAt.
type Condition struct {
	Unit     string
	LookedAt int64
	Equal    int64
	Changed  int64
	Missing  int64
	Replaced int64
	Unknown  int64
	Findings []Finding // nil if all is equal
}

// Finding is a piece of an output that is not as it was written.
type Finding struct {
	State State  `json:"state"`
	Part  *int64 `json:"part,omitempty"` // its ordinal; nil for what is not in a part
	Line  int64  `json:"line,omitempty"` // the first row of the output that differs, as landscape.Reader.SinkLine counts them; 0 if it is not known
	Why   string `json:"why"`
	Run   string `json:"run,omitempty"` // that replaced it
}

// Add counts n pieces with the state of a finding, and keeps the finding unless it is AsWritten, or there are too many.
func (c *Condition) Add(n int64, f Finding) {
	c.LookedAt += n
	switch f.State {
	case AsWritten:
		c.Equal += n
		return
	case Changed:
		c.Changed += n
	case Missing:
		c.Missing += n
	case Replaced:
		c.Replaced += n
	case NotKnown:
		c.Unknown += n
	}
	if len(c.Findings) < MaxFindings {
		c.Findings = append(c.Findings, f)
	}
}

// AddPart counts a part.
func (c *Condition) AddPart(part Part, f Finding) {
	f.Part = &part.Ordinal
	c.Add(1, f)
}

// FirstDifference returns which row of a part is the first that differs, from 1, if its bytes should be data and are found; 0 if nothing differs. A line end
// within quotes ends no row, if there are more line ends than rows.
func FirstDifference(found, data []byte, rows int64) int64 {
	at := 0
	for at < len(found) && at < len(data) && found[at] == data[at] {
		at++
	}
	if at == len(data) && at == len(found) {
		return 0
	}
	lines := int64(bytes.Count(data, []byte{'\n'})) == rows
	row, quoted := int64(1), false
	for _, c := range data[:at] {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\n' && (lines || !quoted):
			row++
		}
	}
	return row
}

// Holds returns how many rows of a part are in the output.
func (w *Written) Holds(part Part) int64 { return part.Rows - w.Refused[part.Ordinal] }

// RowsBefore returns how many rows of the output are in the parts before one.
func (w *Written) RowsBefore(part Part) (rows int64) {
	for _, before := range w.Parts {
		if before.Ordinal < part.Ordinal {
			rows += w.Holds(before)
		}
	}
	return rows
}

// LineThatDiffers returns which row of the output is the first that differs, if a part is found with these bytes; 0 if that is not known.
func (w *Written) LineThatDiffers(ctx context.Context, part Part, found []byte) int64 {
	if !w.Lines || w.Data == nil {
		return 0
	}
	data, err := w.Data(ctx, part)
	if err != nil || bytes.Equal(found, data) {
		return 0
	}
	return w.RowsBefore(part) + FirstDifference(found, data, part.Rows)
}
