package engine

import (
	"fmt"

	"waymark/plugin"
)

// Codes of rejections that the engine itself makes. Stored; never rename.
const (
	CodeUnique        = "UNIQUE"         // a value that an earlier row has and no other row may have
	CodeUnrouted      = "UNROUTED"       // a gate's label has no route
	CodeFieldExists   = "FIELD_EXISTS"   // a rename would give a row two fields of one name
	CodeLookupMissing = "LOOKUP_MISSING" // the table has no row with the key
	CodePanic         = "PANIC"          // a defect in the program, confined to the row
)

// A FailedError stops the run: a row was rejected where the document says fail.
type FailedError struct {
	Node string
	Row  int64
	Line int64
	*plugin.Rejection
}

// Error returns the node, the row's place and the code. It leaves out the rejection's message, which may hold a piece
// of the row: this error travels through workflow history.
func (e *FailedError) Error() string {
	what := e.Code
	if e.Field != "" {
		what += " at field " + e.Field
	}
	const stops = "%s refused row %d (line %d) with %s, and the document says that this stops the run"
	return fmt.Sprintf(stops, e.Node, e.Row, e.Line, what)
}

// NewRun says that the cure changes the document or the source: the run cannot go on.
func (e *FailedError) NewRun() bool { return true }

// UnfinishedError stops the run: a plugin.Finisher could not make a part of rows that it had taken. No retry cures it.
type UnfinishedError struct {
	Node string // the sink
	Err  error
}

// Error returns the sink and the reason.
func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("%s: its part cannot be made: %v", e.Node, e.Err)
}

// NewRun says that the cure changes the document: the run cannot go on.
func (e *UnfinishedError) NewRun() bool { return true }

// Unwrap returns the reason.
func (e *UnfinishedError) Unwrap() error { return e.Err }
