package landscape

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNotFound says that there is no such record.
	ErrNotFound = errors.New("not in the landscape")

	// ErrStale says that a record moved on since it was read. Nothing was stored: read again and decide again.
	ErrStale = errors.New("the record moved on")

	// ErrFenced says that a later attempt at an effect has begun: this one must not touch the target, and its result
	// does not count.
	ErrFenced = errors.New("a later attempt has begun")

	// ErrBlocked says that the target of an effect cannot tell what happened: a person must decide.
	ErrBlocked = errors.New("the effect is blocked")

	// ErrSuperseded says that the run was resumed by another process: what this one still does for it does not count.
	// Nothing was stored. No retry cures it.
	ErrSuperseded = errors.New("the run was resumed by another process")

	// ErrEnded says that the run has ended. Nothing was stored. No retry cures it.
	ErrEnded = errors.New("the run has ended")

	// ErrFull says that there is no space left for the record. Nothing was stored. The same may work when there is space again.
	ErrFull = errors.New("no space left for the record")

	// ErrReadOnly says that the record cannot be written, by file mode, by mount or by setting. Nothing was stored. No retry
	// cures it.
	ErrReadOnly = errors.New("the record cannot be written")

	// ErrAway says that the service that has the record does not answer. What was to be stored may be stored or not. The same may work
	// later.
	ErrAway = errors.New("the record cannot be reached")
)

// UnfitError says that what is there is no landscape that this program can use: of another version, changed by hand, or
// something else. Nothing was changed. No retry cures it: another place does, or another program.
type UnfitError struct {
	Why string // with the cure
}

// Error returns why.
func (e *UnfitError) Error() string { return e.Why }

// DivergedError says that a repeat brought something else than what is recorded. Nothing was stored. No retry cures it:
// one of the two is wrong.
type DivergedError struct {
	Table, Key, Column string
}

// Error names table, key and column.
func (e *DivergedError) Error() string {
	return fmt.Sprintf("%s %s: column %s differs from what is recorded", e.Table, e.Key, e.Column)
}

// ImbalanceError says that a run that should be complete is not. Nothing was stored.
type ImbalanceError struct {
	Run      string
	Findings []Finding // at least one
}

// Error names the run and its first findings.
func (e *ImbalanceError) Error() string {
	const most = 3
	var b strings.Builder
	fmt.Fprintf(&b, "run %s does not balance:", e.Run)
	for i, f := range e.Findings {
		if i == most {
			fmt.Fprintf(&b, "; and %d more", len(e.Findings)-most)
			break
		}
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(" " + f.String())
	}
	return b.String()
}

// String names the check, the node and the chunk.
func (f Finding) String() string {
	where := f.Source
	if f.Chunk >= 0 {
		where = fmt.Sprintf("%s chunk %d", where, f.Chunk)
	}
	parts := make([]string, 0, 2)
	if where != "" {
		parts = append(parts, where)
	}
	if f.Node != "" {
		parts = append(parts, "node "+f.Node)
	}
	return fmt.Sprintf("%s: %s (%s)", strings.Join(parts, ", "), f.Detail, f.Check)
}
