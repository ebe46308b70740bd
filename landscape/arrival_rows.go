package landscape

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"waymark/plugin"
)

// ArrivedRows are rows of a table that a trigger found, one behind the other.
type ArrivedRows struct {
	plugin.FileInfo

	Number int64    `json:"number"` // of all that the trigger found, from 1
	Rows   int64    `json:"rows"`
	By     []string `json:"by"`    // columns that put them in order
	UpTo   []string `json:"up_to"` // what the last of them has there, as the database writes it
}

// NewRowsArrival returns what is recorded first of rows that a trigger found, and that the payload holds.
func NewRowsArrival(trigger string, rows ArrivedRows, payload string) Arrival {
	a := arrivalAt(trigger, rows.Path, rows)
	a.Payload = payload
	return a
}

// LastRows returns the rows that a trigger found last; nil if it found none.
func (r *Reader) LastRows(ctx context.Context, trigger string) (*ArrivedRows, error) {
	found, err := Page[Arrival](ctx, r.from, Query{Prefix: []any{trigger}, After: []any{afterRows, int64(0)}, Descending: true, Limit: 1})
	if err != nil || found == nil || !strings.HasPrefix(found[0].Item, plugin.RowsScheme) {
		return nil, err
	}
	rows := new(ArrivedRows)
	return rows, found[0].read(rows)
}

// afterRows comes behind the items of all rows, in the order of bytes: 0 follows the slash.
const afterRows = "rows:/0"

// Behind returns the position of the last of these rows by columns; nil for no rows. The error says why there is none: they were ordered by others.
func (a *ArrivedRows) Behind(by []string) ([]string, error) {
	if a == nil {
		return nil, nil
	}
	if !slices.Equal(a.By, by) {
		return nil, fmt.Errorf("rows have arrived by %s, and nobody can tell which are new by %s: deploy by as it was, or give the trigger another name, at which all rows arrive",
			strings.Join(a.By, ", "), strings.Join(by, ", "))
	}
	return a.UpTo, nil
}
