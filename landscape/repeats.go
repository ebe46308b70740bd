package landscape

import (
	"context"
	"fmt"
)

// appendRepeats appends the records of what deduplicates dropped, one per slice of the chunk in which they dropped a token.
func appendRepeats(insert []Record, chunk Chunk, columns []RepeatColumn) ([]Record, error) {
	for _, column := range columns {
		if int64(len(column.Firsts)) != chunk.Rows {
			return nil, fmt.Errorf("repeats at %s: %d tokens for %d rows", column.Node, len(column.Firsts), chunk.Rows)
		}
		for from := 0; from < len(column.Firsts); from += SliceRows {
			firsts := column.Firsts[from:min(from+SliceRows, len(column.Firsts))]
			r := RepeatsRecord{
				Run: chunk.Run, Source: chunk.Source, Chunk: chunk.Chunk, Lane: column.Lane, Node: column.Node, Slice: int64(from / SliceRows),
			}
			for _, first := range firsts {
				if first.Row > 0 {
					r.Rows++
				}
			}
			if r.Rows > 0 {
				r.Firsts = packTokens(firsts)
				insert = append(insert, r)
			}
		}
	}
	return insert, nil
}

// Repeats returns of which tokens those are repeats that deduplicates dropped, in the form in which RecordPassage takes them, by lane
// and node; nil if they dropped none.
func (r *Reader) Repeats(ctx context.Context, run string, at ChunkKey) ([]RepeatColumn, error) {
	stored, err := Select[RepeatsRecord](ctx, r.from, run, at.Source, at.Chunk)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	about, err := r.Chunk(ctx, run, at)
	if err != nil {
		return nil, err
	}
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return nil, err
	}
	var columns []RepeatColumn
	for _, stretch := range stored {
		if n := len(columns); n == 0 || columns[n-1].Lane != stretch.Lane || columns[n-1].Node != stretch.Node {
			columns = append(columns, RepeatColumn{Lane: stretch.Lane, Node: stretch.Node, Firsts: make([]Token, about.Rows)})
		}
		if stretch.Slice < 0 || len(stretch.Firsts) != 8*about.sliceRows(stretch.Slice) {
			return nil, incomplete("slice %d of the repeats at %s does not hold the rows of %s chunk %d", stretch.Slice, stretch.Node, at.Source, at.Chunk)
		}
		firsts := columns[len(columns)-1].Firsts[stretch.Slice*SliceRows:]
		for i := range len(stretch.Firsts) / 8 {
			if firsts[i], err = all.unpack(stretch, i); err != nil {
				return nil, err
			}
		}
	}
	return columns, nil
}

// unpack returns the first token of row i of the slice; the zero token if it has none.
func (all lanes) unpack(r RepeatsRecord, i int) (Token, error) {
	lane, row := unpackToken(r.Firsts, i)
	switch {
	case row == 0:
		return Token{}, nil
	case lane >= int64(len(all)):
		return Token{}, incomplete("a row of %s chunk %d repeats one of lane %d, which is not there", r.Source, r.Chunk, lane)
	}
	return Token{Source: all[lane].Source, Lane: lane, Row: row}, nil
}

// FirstOf returns the token that was the first with the key of one that a deduplicate dropped. The error wraps ErrNotFound if it is not
// recorded: the deduplicate did not drop the token.
func (r *Reader) FirstOf(ctx context.Context, run, node string, token Token) (Token, error) {
	chunk, err := r.ChunkOf(ctx, run, token.Source, token.Row)
	if err != nil {
		return Token{}, err
	}
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return Token{}, err
	}
	i := token.Row - chunk.FirstRow
	column, err := get[RepeatsRecord](ctx, r.from, run, token.Source, chunk.Chunk, token.Lane, node, i/SliceRows)
	if err != nil {
		return Token{}, err
	}
	at := int(i % SliceRows)
	if len(column.Firsts) < 8*(at+1) {
		return Token{}, incomplete("slice %d of the repeats of %s chunk %d has no row %d", column.Slice, column.Source, column.Chunk, at)
	}
	first, err := all.unpack(column, at)
	if err == nil && first.Row == 0 {
		err = fmt.Errorf("row %d of %s as a repeat at %s: %w", token.Row, token.Source, node, ErrNotFound)
	}
	return first, err
}

// has reports whether the table of kind has a record with these first key columns.
func (r *Reader) has(ctx context.Context, kind Record, prefix ...any) (found bool, err error) {
	err = r.from.Read(ctx, kind, Query{Prefix: prefix, Limit: 1}, func(Record) bool {
		found = true
		return false
	})
	return found, err
}

// Passed reports whether it is recorded that a chunk went through the steps.
func (r *Reader) Passed(ctx context.Context, run string, at ChunkKey) (bool, error) {
	return r.has(ctx, passageHead{}, run, at.Source, at.Chunk)
}
