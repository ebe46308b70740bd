package audit

import (
	"bytes"
	"context"

	"waymark/activities/recompute"
	"waymark/landscape"
	"waymark/landscape/seal"
)

// verifyForgotten looks whether what was forgotten of a chunk is blank, once the order was carried out.
func (v *verification) verifyForgotten(ctx context.Context, chunk landscape.Chunk, rows *seal.Rows) error {
	forgotten, err := v.log.Forgotten(ctx, chunk.Run, chunk.Key())
	if err != nil {
		return err
	}
	for _, f := range forgotten {
		if rows.Blank(int(f.Slot)) {
			continue
		}
		if done, err := landscape.Select[landscape.Forgetting](ctx, v.log, f.Order); err != nil {
			return err
		} else if done == nil {
			v.note("order %d to forget rows is not carried out yet: waymark forget --finish does it", f.Order)
			return nil
		}
		v.add(RecordDiffers, place(chunk.Source, chunk.Chunk), "row %d was forgotten by order %d, and hashes of it are recorded again", f.Row, f.Order)
	}
	return nil
}

// verifyOthers compares the stored records of a chunk, of which some were forgotten, with the hashes of those that were read.
func (v *verification) verifyOthers(ctx context.Context, record landscape.Chunk) error {
	forgotten, err := v.log.Forgotten(ctx, record.Run, record.Key())
	if err != nil || forgotten == nil {
		return err
	}
	stored, err := recompute.Hashes(ctx, v.log, v.payloads, record)
	if lost(err) {
		return nil // as the chunk's report says
	}
	if err != nil {
		return err
	}
	rows, err := v.log.Records(ctx, record.Run, record.Key())
	if err != nil {
		return err
	}
	for _, f := range forgotten { // of an order that is not carried out yet
		clear(rows.Hashes[landscape.HashBytes*f.Slot:][:landscape.HashBytes])
	}
	for i := range record.Rows {
		v.report.Hashes++
		was, is := rows.Hashes[landscape.HashBytes*i:][:landscape.HashBytes], stored.Hashes[landscape.HashBytes*i:][:landscape.HashBytes]
		if !bytes.Equal(was, is) || rows.Offsets[i] != stored.Offsets[i] || rows.Lengths[i] != stored.Lengths[i] {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "row %d: the stored record hashes to %x, the record has %x", record.FirstRow+i, is, was)
		}
	}
	return nil
}
