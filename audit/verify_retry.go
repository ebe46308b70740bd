package audit

import (
	"context"
	"errors"
	"maps"
	"slices"

	"waymark/activities/recompute"
	"waymark/landscape"
	"waymark/payload"
)

// fedAgain are the records that a source of a run retries, one after the other.
type fedAgain struct {
	parent string
	rows   []formerRow
	lost   bool // the list of them is not to be had
}

// formerRow is one of them: a row of the parent's source, and the chunk that it is in there.
type formerRow struct{ chunk, row int64 }

// readLists reads the lists of the records that the run's sources retry, and reports those that are not to be had.
func (v *verification) readLists(ctx context.Context) error {
	sources, err := v.log.Sources(ctx, v.run.ID)
	if err != nil {
		return err
	}
	v.again = map[string]*fedAgain{}
	for _, source := range sources {
		list, found, err := recompute.ReadRetryList(ctx, v.payloads, source.Source, source.Info)
		switch {
		case lost(err):
			v.add(kindOf(err, ""), source.Source, "%v", err)
			v.again[source.Source] = &fedAgain{lost: true}
		case errors.Is(err, payload.ErrUnavailable) || ctx.Err() != nil:
			return err
		case err != nil:
			continue // what the source held cannot be read: its chunks say so
		case found:
			v.again[source.Source] = flatten(list)
		}
	}
	return v.verifyRetried(ctx)
}

func flatten(list recompute.RetryList) *fedAgain {
	fed := &fedAgain{parent: list.Parent}
	for _, part := range list.Chunks {
		for _, row := range part.Rows {
			fed.rows = append(fed.rows, formerRow{part.Chunk, row})
		}
	}
	return fed
}

// verifyRetried compares the records that are retried with those on record as such.
func (v *verification) verifyRetried(ctx context.Context) error {
	recorded, err := v.log.Retried(ctx, v.run.ID)
	if err != nil {
		return err
	}
	bySource := map[string][]int64{}
	for _, row := range recorded {
		bySource[row.Source] = append(bySource[row.Source], row.Row)
	}
	for source := range bySource {
		if v.again[source] == nil {
			v.add(RecordDiffers, source, "it feeds records again on record, and there is no list of them")
		}
	}
	for source, fed := range v.again {
		if fed.lost {
			continue
		}
		if fed.parent != v.run.Parent {
			v.add(RecordDiffers, source, "it feeds records of run %s again, on record the run comes of run %q", fed.parent, v.run.Parent)
		}
		v.compareFed(source, fed, bySource[source])
	}
	return nil
}

// compareFed compares a list of records that are retried with the rows on record as such.
func (v *verification) compareFed(source string, fed *fedAgain, rows []int64) {
	at := slices.IndexFunc(fed.rows, func(r formerRow) bool {
		ok := len(rows) > 0 && rows[0] == r.row
		rows = rows[min(1, len(rows)):]
		return !ok
	})
	switch {
	case at >= 0:
		v.add(RecordDiffers, source, "row %d of run %s is on the list of those that are retried, and not recorded", fed.rows[at].row, fed.parent)
	case len(rows) > 0:
		v.add(RecordDiffers, source, "row %d of run %s is retried on record, and not on the list", rows[0], fed.parent)
	}
}

// verifyFed compares the records of the run that are retried on record with the lists of the runs that feed them.
func (v *verification) verifyFed(ctx context.Context) error {
	recorded, err := v.log.RetriedFrom(ctx, v.run.ID)
	if err != nil {
		return err
	}
	byRun := map[string]map[string][]int64{}
	for _, row := range recorded {
		if byRun[row.Run] == nil {
			byRun[row.Run] = map[string][]int64{}
		}
		byRun[row.Run][row.Source] = append(byRun[row.Run][row.Source], row.Row)
	}
	linked, err := v.log.LinkedRuns(ctx, v.run.ID)
	if err != nil {
		return err
	}
	for _, retry := range linked {
		if retry.Link != landscape.RetryLink {
			continue
		}
		if err := v.verifyFedBy(ctx, retry.Run, byRun[retry.Run]); err != nil {
			return err
		}
		delete(byRun, retry.Run)
	}
	for _, run := range slices.Sorted(maps.Keys(byRun)) {
		v.add(RecordDiffers, v.run.Pipeline, "run %s feeds records of it again on record, and is no retry of it", run)
	}
	return nil
}

// verifyFedBy compares the records that one run retries with its lists.
func (v *verification) verifyFedBy(ctx context.Context, run string, recorded map[string][]int64) error {
	sources, err := v.log.Sources(ctx, run)
	if err != nil {
		return err
	}
	for _, source := range sources {
		list, found, err := recompute.ReadRetryList(ctx, v.payloads, source.Source, source.Info)
		switch {
		case errors.Is(err, payload.ErrUnavailable) || ctx.Err() != nil:
			return err
		case err != nil:
			v.skipped(CheckedRetries, run, "%v", err)
		case found && list.Parent != v.run.ID:
			v.add(RecordDiffers, source.Source, "run %s feeds records of run %s again, on record it comes of this one", run, list.Parent)
		case found:
			v.compareFed(source.Source, flatten(list), recorded[source.Source])
			v.compared(CheckedRetries, run, "%s of %s that it retries, against its list", plural(list.Rows(), "record"), source.Source)
		case len(recorded[source.Source]) > 0:
			v.add(RecordDiffers, source.Source, "run %s feeds records of it again on record, and has no list of them", run)
		}
		delete(recorded, source.Source)
	}
	for _, source := range slices.Sorted(maps.Keys(recorded)) {
		v.add(RecordDiffers, source, "run %s feeds records of it again on record, and has no such source", run)
	}
	return nil
}

// verifyAgain checks that the records of a chunk are the next ones of those that are retried: the same bytes, from the same
// place of the same file.
func (v *verification) verifyAgain(ctx context.Context, record landscape.Chunk, fed *fedAgain, next *position) error {
	where := place(record.Source, record.Chunk)
	if record.FirstRow != next.row {
		v.add(RecordDiffers, where, "its first row is %d on record, the chunks before it end before row %d", record.FirstRow, next.row)
	}
	next.row = record.FirstRow + record.Rows
	if fed.lost {
		return nil
	}
	if after, err := record.End(); err != nil || after.Row != next.row-1 {
		v.add(RecordDiffers, where, "it ends with row %d, the recorded cursor with %s", next.row-1, record.Cursor)
	}
	if record.Rows < 1 || record.FirstRow < 1 || next.row-1 > int64(len(fed.rows)) {
		v.add(RecordDiffers, where, "it has rows %d to %d on record, and %d are retried", record.FirstRow, next.row-1, len(fed.rows))
		return nil
	}
	return v.compareFormer(ctx, record, fed.parent, fed.rows[record.FirstRow-1:next.row-1])
}

// compareFormer compares the records of a chunk with those of the parent that they are.
func (v *verification) compareFormer(ctx context.Context, record landscape.Chunk, parent string, rows []formerRow) error {
	where := place(record.Source, record.Chunk)
	if whole, err := v.whole(ctx, record); err != nil || !whole {
		return err // that it is not is said where the chunk is read
	}
	now, err := v.log.Records(ctx, record.Run, record.Key())
	if err != nil {
		return err
	}
	origin, found, err := v.former(ctx, parent, record.Source, rows[0].chunk)
	if err != nil {
		return err
	}
	if !found {
		v.add(RecordDiffers, where, "chunk %d of run %s, which it is made of, is not recorded or not whole", rows[0].chunk, parent)
		return nil
	}
	then, err := v.log.Records(ctx, parent, landscape.ChunkKey{Source: record.Source, Chunk: origin.Chunk})
	if err != nil {
		return err
	}
	for i, was := range rows {
		if was.chunk != origin.Chunk || was.row < origin.FirstRow || was.row >= origin.FirstRow+origin.Rows ||
			placed(record, now, i) != placed(origin, then, int(was.row-origin.FirstRow)) {
			v.add(RecordDiffers, where, "row %d is not row %d of run %s, which is retried", record.FirstRow+int64(i), was.row, parent)
		}
	}
	return v.compareHeaders(ctx, record, origin)
}

// compareHeaders requires that the records of a chunk have the header of those of the parent that they are.
func (v *verification) compareHeaders(ctx context.Context, record, origin landscape.Chunk) error {
	var headers [2]string
	for i, chunk := range []landscape.Chunk{record, origin} {
		var err error
		headers[i], err = recompute.Header(ctx, v.log, v.payloads, chunk)
		if lost(err) {
			return nil // said where the chunk is verified, in the run that it is of
		}
		if err != nil {
			return err
		}
	}
	if headers[0] != headers[1] {
		v.add(RecordDiffers, place(record.Source, record.Chunk), "its records have another header than in run %s, which is retried", origin.Run)
	}
	return nil
}

// former returns a chunk of the parent, if it is recorded and whole.
func (v *verification) former(ctx context.Context, parent, source string, chunk int64) (landscape.Chunk, bool, error) {
	origin, err := v.log.Chunk(ctx, parent, landscape.ChunkKey{Source: source, Chunk: chunk})
	if errors.Is(err, landscape.ErrNotFound) {
		return origin, false, nil
	}
	if err != nil {
		return origin, false, err
	}
	whole, err := v.whole(ctx, origin)
	return origin, whole, err
}

// whole reports whether all columns on record have the rows of the chunk.
func (v *verification) whole(ctx context.Context, chunk landscape.Chunk) (bool, error) {
	err := v.log.CheckShape(ctx, chunk)
	if errors.Is(err, landscape.ErrIncomplete) {
		return false, nil
	}
	return err == nil, err
}

// recordAt is what makes a record the same one in two runs.
type recordAt struct {
	file                 string
	line, offset, length int64
	hash                 [32]byte
}

func placed(chunk landscape.Chunk, rows landscape.Records, i int) recordAt {
	at := recordAt{
		file: chunk.File, line: chunk.FirstLine + int64(i), offset: chunk.FirstOffset + int64(rows.Offsets[i]),
		length: int64(rows.Lengths[i]), hash: [32]byte(rows.Hashes[32*i : 32*i+32]),
	}
	if rows.Lines != nil {
		at.line = chunk.FirstLine + int64(rows.Lines[i])
	}
	return at
}

// verifyFedEnd checks that a source that was read to its end has fed everything.
func (v *verification) verifyFedEnd(source string, fed *fedAgain, rows int64) {
	for _, end := range v.ends {
		if end.Source == source && !fed.lost && rows != int64(len(fed.rows)) {
			v.add(RecordDiffers, source, "%d records are to be retried, its chunks hold %d", len(fed.rows), rows)
		}
	}
}
