package landscape

import (
	"context"
	"encoding/binary"
)

// Child is a row that came out of a barrier.
type Child struct {
	Row int64
	Parentage
}

// CameOf returns the rows of a barrier, ascending, that came out of batches which fired in one fold. batches has, by number, the
// tokens of the batch that are asked about: of its rows those are returned that continue one of these or are its elements, or that
// were made of the whole batch; all rows for a batch without tokens. It reads only what that fold put out.
func (r *Reader) CameOf(ctx context.Context, run, node string, fold int64, batches map[int64][]Token) ([]Child, error) {
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return nil, err
	}
	var children []Child
	wanted := wantedOf(batches)
	for chunk, err := range r.Chunks(ctx, run, node) {
		if err != nil {
			return nil, err
		}
		if chunk.Fold == nil || *chunk.Fold != fold {
			continue
		}
		if children, err = r.appendChildren(ctx, children, all, chunk, wanted); err != nil {
			return nil, err
		}
	}
	return children, nil
}

// wantedRows are batches of a barrier, and of each the tokens that are asked about, as the columns of parents have them; nil for all.
type wantedRows map[int64]map[uint64]bool

func wantedOf(batches map[int64][]Token) wantedRows {
	wanted := wantedRows{}
	for batch, tokens := range batches {
		wanted[batch] = nil
		for _, token := range tokens {
			if wanted[batch] == nil {
				wanted[batch] = map[uint64]bool{}
			}
			wanted[batch][packedToken(token)] = true
		}
	}
	return wanted
}

// has reports whether row i of the slice is among those that are asked about.
func (w wantedRows) has(p ParentsRecord, i int) bool {
	tokens, found := w[int64(binary.BigEndian.Uint32(p.Batches[4*i:]))]
	return found && (tokens == nil || p.Tokens == nil || tokens[binary.BigEndian.Uint64(p.Tokens[8*i:])])
}

func (r *Reader) appendChildren(ctx context.Context, children []Child, all lanes, chunk Chunk, wanted wantedRows) ([]Child, error) {
	parents, err := Select[ParentsRecord](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil {
		return nil, err
	}
	for _, p := range parents {
		n := int(p.Rows)
		if len(p.Batches) < 4*n || p.Tokens != nil && len(p.Tokens) < 8*n {
			return nil, incomplete("slice %d of the parents of %s chunk %d does not hold %d rows", p.Slice, p.Source, p.Chunk, n)
		}
		for i := range n {
			if !wanted.has(p, i) {
				continue
			}
			from, err := p.parentage(all, i)
			if err != nil {
				return nil, err
			}
			children = append(children, Child{Row: chunk.FirstRow + p.Slice*SliceRows + int64(i), Parentage: from})
		}
	}
	return children, nil
}
