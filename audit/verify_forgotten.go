package audit

import (
	"bytes"
	"context"
	"strings"

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
			return nil // these are not the records that the run read
		}
	}
	return v.recomputeOthers(ctx, record)
}

// recomputeOthers sends the records of a chunk that were not forgotten through the steps again, and compares what comes
// out with everything that is sealed of their rows. The bytes for sinks, and what barriers take, hold the others as well.
func (v *verification) recomputeOthers(ctx context.Context, record landscape.Chunk) error {
	if v.compiled == nil || !v.passed[record.Key()] {
		return nil
	}
	in, err := recompute.Others(ctx, v.log, v.payloads, v.compiled, record)
	if err != nil {
		return err
	}
	result, err := v.result(ctx, record.Chunk, in)
	if err != nil {
		return err
	}
	passage := recompute.PassageOf(v.compiled, record.Run, record.Source, record.Chunk, in.Chunk, result)
	computed, err := v.log.ComputedRows(ctx, record, passage, recompute.RecordsOf(in))
	if err != nil {
		return err
	}
	recorded, err := v.log.SealedRows(ctx, record)
	if err != nil {
		return err
	}
	v.report.Chunks++
	for i := range recorded.Len() {
		if in.Without[i] {
			continue
		}
		v.report.Rows++
		if tables := recorded.Differ(computed, i); tables != nil {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "row %d: what the steps make of it is not what is recorded, in %s",
				record.FirstRow+int64(i), strings.Join(tables, ", "))
		}
	}
	return nil
}
