package triggers

import (
	"context"

	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/plugin/webhook"
)

// grown returns what is to be recorded of the next rows of a table, which it stores: whatever becomes of the table, that is what a run reads. How far the table was looked at is part of
// that record, so no row is left out, and none arrives twice as it is.
func (w *watched) grown(ctx context.Context) ([]landscape.ArrivalChange, error) {
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	w.found.more = false
	last, err := w.Log.LastRows(ctx, w.row.ID)
	if err != nil {
		return nil, err
	}
	after, err := last.Behind(w.declared.Rows.By)
	if err != nil {
		return nil, err
	}
	growth, err := w.found.table.Grown(ctx, *w.declared.Rows, after)
	if err != nil || growth.Records.Len() == 0 {
		return nil, err
	}
	rows := landscape.ArrivedRows{Number: 1, Rows: int64(growth.Records.Len()), By: w.declared.Rows.By, UpTo: growth.UpTo}
	if last != nil {
		rows.Number = last.Number + 1
	}
	path := webhook.FoundPath(w.row.ID, rows.Number)
	packed, body := webhook.PackFound(path, &growth.Records)
	digest, err := w.Payloads.Put(ctx, packed)
	if err == nil {
		err = failpoint.Hit("arrival.stored")
	}
	if err != nil {
		return nil, err
	}
	rows.FileInfo = webhook.FoundRows(path, string(digest), body)
	w.found.more = growth.More
	return []landscape.ArrivalChange{{To: landscape.NewRowsArrival(w.row.ID, rows, string(digest))}}, nil
}
