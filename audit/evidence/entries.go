package evidence

import (
	"context"

	"waymark/landscape"
)

// Entry is an entry of the log for people.
type Entry struct {
	Position int64 `json:"entry"`
	Statement
	By      string `json:"by,omitempty"`      // the name of the key that signed it, unverified
	Unclear string `json:"unclear,omitempty"` // why it cannot be read; empty if it can
}

// EntryOf returns the position of the entry that says that a run began. The error wraps landscape.ErrNotFound if there is none. Nothing is verified.
func EntryOf(ctx context.Context, log *landscape.Reader, run string) (position int64, err error) {
	e, err := log.LogEntryAbout(ctx, Statement{Type: Began, Run: run}.about())
	return e.Position, err
}

// EntryOfSeal returns the position of the entry about a seal of a run. The error wraps landscape.ErrNotFound if there is none. Nothing is verified.
func EntryOfSeal(ctx context.Context, log *landscape.Reader, seal landscape.RunSeal) (position int64, err error) {
	e, err := log.LogEntryAbout(ctx, sealed(seal).about())
	return e.Position, err
}

// Entries returns what entries of the log say, from a position on, at most so many; nil if there are none. Nothing is verified.
func Entries(ctx context.Context, log *landscape.Reader, from int64, most int) (all []Entry, err error) {
	stored, err := log.LogEntries(ctx, from, most)
	for _, e := range stored {
		one := Entry{Position: e.Position}
		var wrong error
		if one.Statement, one.By, wrong = read(e.Entry); wrong != nil {
			one.Unclear = wrong.Error()
		}
		all = append(all, one)
	}
	return all, err
}
