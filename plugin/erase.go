package plugin

import "context"

// An Eraser is an Attester that can delete single rows of what a run wrote, because somebody ordered to forget whom they are about.
type Eraser interface {
	Attester
	// TryErase returns what Erase would now, and fails as it would. Without lines it asks only whether the place can be reached, and lets rows of the
	// published output be deleted. It changes nothing.
	TryErase(ctx context.Context, written Written, lines []int64) ([]ErasureOutcome, error)
	// RowsWith returns how many rows at the place, also of other writers, have the value, as text, in a column; -1 if there is no such column.
	RowsWith(ctx context.Context, column, value string) (int64, error)
	// Erase deletes rows of a published output, by their lines, and records at the place, in the transaction that deletes,
	// what became of each. It deletes only what is there exactly as the run wrote it, and what no other run wrote as well.
	// The outcomes are those of the lines, in their order. A line of which the place has a record already is left alone,
	// and keeps its outcome: so a repeat deletes nothing else, and answers the same. After an error nothing, or
	// everything, is done.
	Erase(ctx context.Context, written Written, lines []int64) ([]ErasureOutcome, error)
}

// ErasureOutcome is what became of a row that was to be deleted. Stored; never rename.
type ErasureOutcome string

// The outcomes.
const (
	RowDeleted  ErasureOutcome = "deleted"
	RowGone     ErasureOutcome = "gone"     // no row had what the run wrote
	RowEdited   ErasureOutcome = "edited"   // there was a row with its key, and other values: somebody changed it
	RowReplaced ErasureOutcome = "replaced" // a later row with its key was written
	RowUnclear  ErasureOutcome = "unclear"  // nothing told whether the row was the run's
	RowLeft     ErasureOutcome = "left"     // the place was not asked, because somebody decided so
)

// Absent reports whether the row is not at the place any more.
func (o ErasureOutcome) Absent() bool { return o == RowDeleted || o == RowGone }

// PartRows are the rows of a part, as far as they are known.
type PartRows struct {
	Data    []byte           // one line for each row that is known, in order
	Without map[int]Omission // the others, by number within the part, from 0
}

// Omission says why a row of a part is not known.
type Omission struct {
	Erased bool   // it was deleted by order, or gone then: the place has it no more
	Why    string // it cannot be compared, if it was not
}

// LostError says that rows cannot be known any more: what they were computed from was purged, or is gone.
type LostError struct{ Err error }

// Error says what is gone.
func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *LostError) Unwrap() error { return e.Err }

// RowsOf returns the rows of a part: without Rows, those of Data. The error is a *LostError if nothing can tell them.
func (w *Written) RowsOf(ctx context.Context, part Part) (PartRows, error) {
	if w.Rows != nil {
		return w.Rows(ctx, part)
	}
	data, err := w.Data(ctx, part)
	return PartRows{Data: data}, err
}
