package landscape

import (
	"context"
	"encoding/json"

	"waymark/plugin"
)

// RowsText returns rows that came with a request as Start.Rows has them.
func RowsText(rows []plugin.RequestRows) string {
	if len(rows) == 0 {
		return ""
	}
	text, err := json.Marshal(rows)
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	return string(text)
}

// RequestRows returns which rows came with the request, by their sources; nil if none did.
func (s Start) RequestRows() (rows []plugin.RequestRows, err error) {
	if s.Rows == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(s.Rows), &rows); err != nil {
		return nil, incomplete("start %d of run %s: rows: %v", s.Seq, s.Run, err)
	}
	return rows, nil
}

// requestedOf calls yield with the payloads of the rows that came with the request for a run, until it returns false. A run that can still be resumed may read them again: nobody may
// purge them.
func (r *Reader) requestedOf(ctx context.Context, run string, yield func(payload string) bool) error {
	start, err := r.StartOfRun(ctx, run)
	if err != nil || start.Rows == "" {
		return err
	}
	head, err := get[RunHead](ctx, r.from, run)
	if err != nil {
		return err
	}
	if _, ended := head.ended(); !ended {
		return nil
	}
	rows, err := start.RequestRows()
	for _, of := range rows {
		if !yield(of.Payload) {
			break
		}
	}
	return err
}

// EachUnbegun calls yield with every start with rows of which no run came, or can come any more, until it returns false.
func (r *Reader) EachUnbegun(ctx context.Context, yield func(Start) bool) error {
	return each(ctx, r.from, nil, func(s Start) bool { return s.Rows == "" || s.open() || s.State == StartBegun || yield(s) })
}
