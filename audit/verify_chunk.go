package audit

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"waymark/activities"
	"waymark/engine"
	"waymark/landscape"
	"waymark/payload"
	"waymark/plan"
	"waymark/plugin"
)

// verifyChunk checks the chunk's payload and places, and sends its records through the steps again if the plan is to be had.
// refused are the rows of the chunk that have an error on record.
func (v *verification) verifyChunk(ctx context.Context, record landscape.Chunk, refused []int64) error {
	where := place(record.Source, record.Chunk)
	err := v.log.CheckShape(ctx, record)
	var chunk *plugin.Chunk
	if err == nil {
		chunk, err = activities.Chunk(ctx, v.log, v.payloads, record)
	}
	switch {
	case errors.Is(err, landscape.ErrIncomplete):
		v.add(RecordIncomplete, where, "%v", err)
		return nil
	case errors.Is(err, payload.ErrNotFound):
		v.add(PayloadMissing, where, "%v", err)
		return nil
	case errors.Is(err, payload.ErrCorrupt):
		v.add(PayloadCorrupt, where, "%v", err)
		return nil
	case err != nil:
		return err
	}
	v.report.Chunks++
	v.report.Rows += int64(chunk.Len())
	v.verifyPlaces(record, chunk)
	same, err := v.verifyRecords(ctx, record, chunk)
	if err != nil || !same || v.compiled == nil {
		return err // other records than were read say nothing about what became of those
	}
	return v.recompute(ctx, record, chunk, refused)
}

// verifyRecords compares the chunk's records with the index of those that were read, and reports whether they are the same.
func (v *verification) verifyRecords(ctx context.Context, record landscape.Chunk, chunk *plugin.Chunk) (same bool, err error) {
	rows, err := v.log.Records(ctx, record.Run, record.Source, record.Chunk)
	if err != nil {
		return false, err
	}
	same = true
	for i, hash := range hashesOf(activities.RecordHashes(chunk)) {
		v.report.Hashes++
		row, recorded := record.FirstRow+int64(i), rows.Hashes[32*i:32*i+32]
		if rows.Offsets[i] != chunk.Offsets[i] || rows.Lengths[i] != chunk.Lengths[i] {
			same = false
			v.add(RecordDiffers, place(record.Source, record.Chunk), "row %d: the stored record has %d bytes at byte %d, on record are %d at %d",
				row, chunk.Lengths[i], chunk.Offsets[i], rows.Lengths[i], rows.Offsets[i])
		}
		if hash != [32]byte(recorded) {
			same = false
			v.add(RecordDiffers, place(record.Source, record.Chunk), "row %d: the stored record hashes to %x, on record is %x", row, hash, recorded)
		}
	}
	return same, nil
}

// recompute sends the chunk through the steps again and compares what comes out with everything on record about it.
func (v *verification) recompute(ctx context.Context, record landscape.Chunk, chunk *plugin.Chunk, refused []int64) error {
	routes, err := v.log.Routes(ctx, record.Run, record.Source, record.Chunk)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil // the chunk was read and has not gone through the steps
	}
	if err != nil {
		return err
	}
	hashes, err := v.log.Hashes(ctx, record.Run, record.Source, record.Chunk)
	if err != nil {
		return err
	}
	result, err := v.result(ctx, v.compiled, record, chunk)
	if err != nil {
		return err
	}
	computed := activities.PassageOf(v.compiled, record.Run, record.Source, record.Chunk, chunk, result)
	before := len(v.report.Problems)
	v.compareWays(record, routes, computed.Routes)
	v.compareHashes(record, hashes, computed.Hashes)
	v.compareWrites(record, computed)
	v.compareRefused(record, computed, refused)
	if err := v.compareErrors(ctx, record, computed); err != nil || len(v.report.Problems) > before {
		return err // said in words; the records would say it again
	}
	differences, err := v.log.ComparePassage(ctx, computed)
	v.addDifferences(place(record.Source, record.Chunk), differences)
	return err
}

func (v *verification) compareWrites(record landscape.Chunk, computed landscape.Passage) {
	for _, write := range computed.Writes {
		recorded := v.writes[landscape.EffectKey{Run: record.Run, Sink: write.Sink, Source: record.Source, Chunk: record.Chunk}]
		if recorded.SHA256 != write.SHA256 || recorded.Bytes != write.Bytes {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "the bytes for sink %s hash to %s and are %d, on record is %s and %d",
				write.Sink, write.SHA256, write.Bytes, recorded.SHA256, recorded.Bytes)
		}
	}
}

// compareRefused looks for errors of rows that no node refuses.
func (v *verification) compareRefused(record landscape.Chunk, computed landscape.Passage, refused []int64) {
	wanted := map[int64]bool{}
	for _, refusal := range computed.Errors {
		wanted[record.FirstRow+int64(refusal.Index)] = true
	}
	for _, row := range refused {
		if !wanted[row] {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "row %d is refused by no node, on record is an error", row)
		}
	}
}

func (a *Auditor) result(ctx context.Context, compiled *plan.Plan, record landscape.Chunk, chunk *plugin.Chunk) (*engine.Result, error) {
	runner, err := engine.NewRunner(compiled)
	if err != nil {
		return nil, err
	}
	values, err := runner.UniqueValues(chunk)
	if err != nil {
		return nil, err
	}
	duplicates, err := activities.Claim(ctx, a.log, record.Run, record.Source, record.FirstRow, values)
	if err != nil {
		return nil, err
	}
	return runner.Run(chunk, duplicates)
}

func (v *verification) compareWays(record landscape.Chunk, recorded, computed landscape.Routes) {
	for i := range computed.Codes {
		was, is := signature(recorded, i), signature(computed, i)
		if was != is {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "row %d goes %s, on record is %s", record.FirstRow+int64(i), is, was)
		}
	}
}

// signature returns the way of a row of the chunk. What is on record may make no sense.
func signature(routes landscape.Routes, i int) string {
	if i >= len(routes.Codes) || int(routes.Codes[i]) >= len(routes.Ways) {
		return "no way"
	}
	return routes.Ways[routes.Codes[i]].Signature()
}

// compareErrors compares why each row was refused.
func (v *verification) compareErrors(ctx context.Context, record landscape.Chunk, computed landscape.Passage) error {
	for _, refusal := range computed.Errors {
		row := record.FirstRow + int64(refusal.Index)
		recorded, err := v.log.ErrorsOf(ctx, record.Run, record.Source, row)
		if err != nil {
			return err
		}
		way := computed.Ways[computed.Codes[refusal.Index]]
		if len(recorded) != 1 || !sameError(recorded[0], way, refusal) {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "row %d is refused by %s with %s, on record is another error or none", row, way.Last(), refusal.Code)
		}
	}
	return nil
}

func sameError(e landscape.RowError, way landscape.Way, r landscape.Refusal) bool {
	raw := r.Raw[:min(len(r.Raw), landscape.MaxRawBytes)]
	return e.Node == way.Last() && e.SentTo == way.Sink && e.Code == r.Code && e.Field == r.Field && e.Message == r.Message &&
		bytes.Equal(e.Raw, raw) && e.RawBytes == r.Bytes && e.Line == r.Line && e.ByteOffset == r.Offset
}

func (v *verification) compareHashes(record landscape.Chunk, recorded, computed []landscape.NodeHashes) {
	stored := map[string]landscape.NodeHashes{}
	for _, column := range recorded {
		stored[column.Node] = column
	}
	for _, column := range computed {
		other := stored[column.Node]
		delete(stored, column.Node)
		if len(column.Hashes) != len(other.Hashes) {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "no row comes out of %s on record, computed again some do", column.Node)
			continue
		}
		v.compareColumn(record, column, other)
	}
	for node := range stored {
		v.add(RecordDiffers, place(record.Source, record.Chunk), "no row comes out of %s, on record some do", node)
	}
}

func (v *verification) compareColumn(record landscape.Chunk, computed, recorded landscape.NodeHashes) {
	was := hashesOf(recorded.Hashes)
	for i, hash := range hashesOf(computed.Hashes) {
		v.report.Hashes++
		if hash != was[i] {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "row %d comes out of %s as %x, on record is %x",
				record.FirstRow+int64(i), computed.Node, hash, was[i])
		}
	}
}

func hashesOf(column []byte) [][32]byte {
	hashes := make([][32]byte, 0, len(column)/32)
	for hash := range slices.Chunk(column, 32) {
		hashes = append(hashes, [32]byte(hash))
	}
	return hashes
}
