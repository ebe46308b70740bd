package landscape

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// CheckShape reports whether the columns on record about a chunk can be read as its rows: every slice is there, and every
// column has its length. It says nothing about their values. The error wraps ErrIncomplete if one cannot.
func (r *Reader) CheckShape(ctx context.Context, chunk Chunk) error {
	for _, check := range []func(context.Context, Chunk) error{
		r.checkRowColumns, r.checkPassageShape, r.checkHashColumns, r.checkKeyColumns, r.checkParentColumns,
	} {
		if err := check(ctx, chunk); err != nil {
			return fmt.Errorf("source %s, chunk %d: %w", chunk.Source, chunk.Chunk, err)
		}
	}
	return nil
}

// CheckShapeAt does what CheckShape does for one record of the chunk: of columns that are in slices it looks at the slice with the record.
func (r *Reader) CheckShapeAt(ctx context.Context, chunk Chunk, index int) error {
	slice := int64(index / SliceRows)
	for _, check := range []func() error{
		func() error { return r.checkRowSlice(ctx, chunk, slice) },
		func() error { return r.checkPassageShape(ctx, chunk) },
		func() error { return r.checkHashSlices(ctx, chunk, slice) },
		func() error { return r.checkKeyColumns(ctx, chunk) },
		func() error { return r.checkParentSlice(ctx, chunk, slice) },
	} {
		if err := check(); err != nil {
			return fmt.Errorf("source %s, chunk %d: %w", chunk.Source, chunk.Chunk, err)
		}
	}
	return nil
}

func incomplete(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrIncomplete, fmt.Sprintf(format, args...))
}

// sliceRows returns how many rows the slice of the chunk has.
func (c Chunk) sliceRows(slice int64) int { return int(min(SliceRows, c.Rows-slice*SliceRows)) }

func (r *Reader) checkRowColumns(ctx context.Context, chunk Chunk) error {
	slices, err := Select[ChunkRowsRecord](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil {
		return err
	}
	if want := (chunk.Rows + SliceRows - 1) / SliceRows; int64(len(slices)) != want {
		return incomplete("chunk_rows has %d slices of it, not %d", len(slices), want)
	}
	for i, s := range slices {
		if err := s.check(chunk, int64(i)); err != nil {
			return err
		}
		if (s.Lines == nil) != (slices[0].Lines == nil) {
			return incomplete("some slices of chunk_rows have lines, others have none")
		}
	}
	return nil
}

// check reports whether s is this slice of the chunk.
func (s ChunkRowsRecord) check(chunk Chunk, slice int64) error {
	n := chunk.sliceRows(slice)
	lines := len(s.Lines) == 4*n || s.Lines == nil
	if s.Slice != slice || s.Rows != int64(n) || len(s.Offsets) != 4*n || len(s.Lengths) != 4*n || len(s.RawHashes) != HashBytes*n || !lines {
		return incomplete("slice %d of chunk_rows does not hold %d rows", slice, n)
	}
	return nil
}

// sliceOf returns one slice of a column of the chunk. The error wraps ErrIncomplete if it is not there.
func sliceOf[T Record](ctx context.Context, d RecordReader, chunk Chunk, slice int64) (T, error) {
	s, err := get[T](ctx, d, chunk.Run, chunk.Source, chunk.Chunk, slice)
	if errors.Is(err, ErrNotFound) {
		err = incomplete("%s has no slice %d of it", s.Table(), slice)
	}
	return s, err
}

func (r *Reader) checkRowSlice(ctx context.Context, chunk Chunk, slice int64) error {
	s, err := sliceOf[ChunkRowsRecord](ctx, r.from, chunk, slice)
	if err != nil {
		return err
	}
	return s.check(chunk, slice)
}

func (r *Reader) checkPassageShape(ctx context.Context, chunk Chunk) error {
	all, err := r.lanesOf(ctx, chunk.Run)
	if err != nil {
		return err
	}
	passages, err := Select[PassageRecord](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil || passages == nil {
		return err // without any it did not go through the steps yet
	}
	if passages[0].Lane != all.root(chunk.Source) {
		return incomplete("passages has none of its root lane")
	}
	for _, p := range passages {
		if _, err := all.at(chunk.Source, p.Lane); err != nil {
			return incomplete("passages has one of lane %d, which the source does not have", p.Lane)
		}
		if p.Rows != chunk.Rows || p.CodeBytes != 1 && p.CodeBytes != 2 || int64(len(p.WayCodes)) != p.CodeBytes*p.Rows {
			return incomplete("passages has %d way codes of %d bytes in %d bytes for %d rows", p.Rows, p.CodeBytes, len(p.WayCodes), chunk.Rows)
		}
	}
	return errors.Join(r.checkWayShapes(ctx, chunk), r.checkJoinShapes(ctx, chunk))
}

func (r *Reader) checkJoinShapes(ctx context.Context, chunk Chunk) error {
	joins, err := Select[MergeCodes](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil {
		return err
	}
	for _, j := range joins {
		if j.Rows != chunk.Rows || j.CodeBytes != 1 && j.CodeBytes != 2 || int64(len(j.Codes)) != j.CodeBytes*j.Rows {
			return incomplete("merge_codes has %d codes of %d bytes in %d bytes for %d rows", j.Rows, j.CodeBytes,
				len(j.Codes), chunk.Rows)
		}
	}
	return nil
}

func (r *Reader) checkParentColumns(ctx context.Context, chunk Chunk) error {
	if chunk.Fold == nil {
		return nil
	}
	slices, err := Select[ParentsRecord](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil {
		return err
	}
	if want := (chunk.Rows + SliceRows - 1) / SliceRows; int64(len(slices)) != want {
		return incomplete("parents has %d slices of it, not %d", len(slices), want)
	}
	for i, p := range slices {
		if err := p.check(chunk, int64(i)); err != nil {
			return err
		}
	}
	return nil
}

// check reports whether p is this slice of the chunk.
func (p ParentsRecord) check(chunk Chunk, slice int64) error {
	n := chunk.sliceRows(slice)
	tokens := p.Tokens == nil || len(p.Tokens) == 8*n
	if p.Slice != slice || p.Rows != int64(n) || len(p.Batches) != 4*n || !tokens {
		return incomplete("slice %d of parents does not hold %d rows", slice, n)
	}
	return nil
}

func (r *Reader) checkParentSlice(ctx context.Context, chunk Chunk, slice int64) error {
	if chunk.Fold == nil {
		return nil
	}
	p, err := sliceOf[ParentsRecord](ctx, r.from, chunk, slice)
	if err != nil {
		return err
	}
	return p.check(chunk, slice)
}

func (r *Reader) checkWayShapes(ctx context.Context, chunk Chunk) error {
	used, err := Select[ChunkWayRecord](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil {
		return err
	}
	for _, u := range used {
		ways, err := Select[WayRecord](ctx, r.from, chunk.Run, u.Way)
		if err != nil {
			return err
		}
		steps, err := Select[WayStepRecord](ctx, r.from, chunk.Run, u.Way)
		if err != nil {
			return err
		}
		if len(ways) == 0 || len(steps) < 2 && (Way{Sink: ways[0].Sink}).ToSink() || len(steps) == 0 || ways[0].FirstSeq > int64(len(steps)) {
			return incomplete("way %s, or steps of it, are missing", u.Way)
		}
	}
	return nil
}

func (r *Reader) checkHashColumns(ctx context.Context, chunk Chunk) (err error) {
	failed := each(ctx, r.from, []any{chunk.Run, chunk.Source, chunk.Chunk}, func(h HashesRecord) bool {
		err = h.check(chunk)
		return err == nil
	})
	return errors.Join(failed, err)
}

// check reports whether h is a slice of the chunk.
func (h HashesRecord) check(chunk Chunk) error {
	if n := chunk.sliceRows(h.Slice); h.Slice < 0 || n <= 0 || !h.fits(n) {
		return incomplete("slice %d of the hashes of %s does not hold %d rows", h.Slice, h.Node, max(n, 0))
	}
	return nil
}

// checkHashSlices looks at one slice of each column of hashes, and goes from column to column by their keys.
func (r *Reader) checkHashSlices(ctx context.Context, chunk Chunk, slice int64) error {
	for q := (Query{Prefix: []any{chunk.Run, chunk.Source, chunk.Chunk}, Limit: 1}); ; {
		first, err := Page[HashesRecord](ctx, r.from, q)
		if err != nil || len(first) == 0 {
			return err
		}
		lane, node := first[0].Lane, first[0].Node
		wanted, err := Select[HashesRecord](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk, lane, node, slice)
		for _, h := range wanted { // none if no row of the slice left the node
			err = errors.Join(err, h.check(chunk))
		}
		if err != nil {
			return err
		}
		q.After = []any{lane, node, int64(math.MaxInt64)}
	}
}

// fits reports whether the record is about n rows.
func (h HashesRecord) fits(n int) bool {
	if h.Slots == nil {
		return len(h.Hashes) == HashBytes*n
	}
	if len(h.Slots) != 2*n {
		return false
	}
	for i := range n {
		if HashBytes*int(binary.BigEndian.Uint16(h.Slots[2*i:])) > len(h.Hashes) {
			return false
		}
	}
	return true
}

func (r *Reader) checkKeyColumns(ctx context.Context, chunk Chunk) error {
	columns, err := Select[KeyHashes](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil {
		return err
	}
	for _, k := range columns {
		if int64(len(k.Hashes)) != 4*chunk.Rows {
			return incomplete("the key column %s has %d bytes for %d rows", k.Field, len(k.Hashes), chunk.Rows)
		}
	}
	return nil
}
