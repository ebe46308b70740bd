package landscape

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"waymark/pipeline"
)

// Tables returns what the lookups of a run read, by node.
func (r *Reader) Tables(ctx context.Context, run string) ([]LookupTable, error) {
	return Select[LookupTable](ctx, r.from, run)
}

// Fold returns one step of a barrier. The error wraps ErrNotFound if it is not recorded.
func (r *Reader) Fold(ctx context.Context, run, node string, fold int64) (FoldRecord, error) {
	return get[FoldRecord](ctx, r.from, run, node, fold)
}

// Folds returns the folds of a barrier in order; nil if there is none yet.
func (r *Reader) Folds(ctx context.Context, run, node string) ([]FoldRecord, error) {
	return Select[FoldRecord](ctx, r.from, run, node)
}

// firedIn is in which fold a batch fired, and what fired it.
type firedIn struct {
	Run     string `db:"run_id,key"`
	Node    string `db:"node,key"`
	Batch   int64  `db:"batch,key"`
	Fold    int64  `db:"fold"`
	Trigger string `db:"trigger"`
}

// Table returns batches.
func (firedIn) Table() string { return "batches" }

// FoldsFiredBy returns the folds of a barrier in which this trigger fired a batch; an empty map if there is none.
func (r *Reader) FoldsFiredBy(ctx context.Context, run, node, trigger string) (map[int64]bool, error) {
	folds := map[int64]bool{}
	return folds, each(ctx, r.from, []any{run, node}, func(b firedIn) bool {
		if b.Trigger == trigger {
			folds[b.Fold] = true
		}
		return true
	})
}

// Batch returns one batch of a barrier. The error wraps ErrNotFound if it did not fire yet.
func (r *Reader) Batch(ctx context.Context, run, node string, batch int64) (BatchRecord, error) {
	return get[BatchRecord](ctx, r.from, run, node, batch)
}

// Members returns the tokens of one lane of a fold's chunk that came to the barrier, in the form in which RecordFold takes
// them, by lane; nil if none came.
func (r *Reader) Members(ctx context.Context, run, node string, at ChunkKey) ([]LaneMembers, error) {
	about, err := r.Chunk(ctx, run, at)
	if err != nil {
		return nil, err
	}
	stored, err := Select[MembersRecord](ctx, r.from, run, node, at.Source, at.Chunk)
	if err != nil {
		return nil, err
	}
	var list []LaneMembers
	for _, m := range stored {
		if n := len(list); n == 0 || list[n-1].Lane != m.Lane {
			list = append(list, LaneMembers{Lane: m.Lane, Batches: make([]uint32, about.Rows)})
		}
		if m.Slice < 0 || len(m.Batches) != 4*about.sliceRows(m.Slice) {
			return nil, incomplete("slice %d of the members of %s does not hold the rows of %s chunk %d", m.Slice, node, at.Source, at.Chunk)
		}
		copy(list[len(list)-1].Batches[m.Slice*SliceRows:], unpack(nil, m.Batches))
	}
	return list, nil
}

// MembersOf returns the tokens of a batch in the order in which they came; nil if there is none.
func (r *Reader) MembersOf(ctx context.Context, run, node string, batch int64) ([]Token, error) {
	return r.FirstMembers(ctx, run, node, batch, math.MaxInt)
}

// FirstMembers returns the tokens of a batch in the order in which they came, at most that many; nil if there is none. It reads the
// chunks that came between the batch's first token and its last, or the one with which there are enough.
func (r *Reader) FirstMembers(ctx context.Context, run, node string, batch int64, most int) ([]Token, error) {
	folds, err := r.Folds(ctx, run, node)
	if err != nil {
		return nil, err
	}
	fired, err := r.Batch(ctx, run, node, batch)
	open := errors.Is(err, ErrNotFound)
	if err != nil && !open {
		return nil, err
	}
	var tokens []Token
	for _, fold := range folds {
		if len(tokens) >= most || !open && fold.Fold > fired.Fold {
			break
		}
		if fold.Kind != ChunkFold || fold.Opened < batch {
			continue
		}
		chunk, err := r.Chunk(ctx, run, ChunkKey{fold.Source, fold.Chunk})
		if err != nil {
			return nil, err
		}
		members, err := r.Members(ctx, run, node, ChunkKey{fold.Source, fold.Chunk})
		if err != nil {
			return nil, err
		}
		tokens = appendMembers(tokens, chunk, members, batch)
	}
	return tokens[:min(len(tokens), most)], nil
}

// appendMembers appends the tokens of a chunk that are in the batch, by row and lane.
func appendMembers(tokens []Token, chunk Chunk, members []LaneMembers, batch int64) []Token {
	for i := range int(chunk.Rows) {
		for _, m := range members {
			if int64(m.Batches[i]) == batch {
				tokens = append(tokens, Token{Source: chunk.Source, Lane: m.Lane, Row: chunk.FirstRow + int64(i)})
			}
		}
	}
	return tokens
}

// Membership is the batch that holds or settled a token.
type Membership struct {
	Node  string // the barrier
	Batch int64
	Fired *BatchRecord // nil as long as the batch is open
}

// BatchOf returns the batch that holds or settled a token. The error wraps ErrNotFound if the token did not end at a
// barrier, or the fold that took it is not recorded yet.
func (r *Reader) BatchOf(ctx context.Context, run string, token Token) (Membership, error) {
	at, err := r.find(ctx, run, token)
	if err != nil {
		return Membership{}, err
	}
	node := at.way.Last()
	if at.way.Path != pipeline.Buffered {
		return Membership{}, fmt.Errorf("row %d of source %s in lane %d ended at %s, which is no barrier: %w", token.Row, token.Source, token.Lane, node, ErrNotFound)
	}
	slice, i := int64(at.index/SliceRows), at.index%SliceRows
	m, err := get[MembersRecord](ctx, r.from, run, node, token.Source, at.chunk.Chunk, token.Lane, slice)
	if err != nil {
		return Membership{}, err
	}
	if len(m.Batches) < 4*(i+1) {
		return Membership{}, incomplete("slice %d of the members of %s has no row %d", slice, node, i)
	}
	in := Membership{Node: node, Batch: int64(binary.BigEndian.Uint32(m.Batches[4*i:]))}
	fired, err := r.Batch(ctx, run, node, in.Batch)
	if errors.Is(err, ErrNotFound) {
		return in, nil
	}
	in.Fired = &fired
	return in, err
}

// Parentage is what a row that came out of a barrier was made from.
type Parentage struct {
	Batch int64
	Token *Token // the one token that continues in the row, or was expanded; nil if the row was made of the whole batch
}

// ParentsOf returns what a row of a barrier was made from. The error wraps ErrNotFound if the row is not there.
func (r *Reader) ParentsOf(ctx context.Context, run, node string, row int64) (Parentage, error) {
	chunk, err := r.ChunkOf(ctx, run, node, row)
	if err != nil {
		return Parentage{}, err
	}
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return Parentage{}, err
	}
	i := row - chunk.FirstRow
	p, err := get[ParentsRecord](ctx, r.from, run, node, chunk.Chunk, i/SliceRows)
	if err != nil {
		return Parentage{}, err
	}
	return p.parentage(all, int(i%SliceRows))
}

// parentage returns what row i of the slice was made from.
func (p ParentsRecord) parentage(all lanes, i int) (Parentage, error) {
	if len(p.Batches) < 4*(i+1) || p.Tokens != nil && len(p.Tokens) < 8*(i+1) {
		return Parentage{}, incomplete("slice %d of the parents of %s chunk %d has no row %d", p.Slice, p.Source, p.Chunk, i)
	}
	from := Parentage{Batch: int64(binary.BigEndian.Uint32(p.Batches[4*i:]))}
	if p.Tokens == nil {
		return from, nil
	}
	lane, row := unpackToken(p.Tokens, i)
	if lane >= int64(len(all)) {
		return Parentage{}, incomplete("a row of %s chunk %d comes from lane %d, which is not there", p.Source, p.Chunk, lane)
	}
	from.Token = &Token{Source: all[lane].Source, Lane: lane, Row: row}
	return from, nil
}

// rowsFrom returns the rows that came of a batch, and of the token if rows have one token.
func (r *Reader) rowsFrom(ctx context.Context, run, node string, batch int64, token Token) ([]int64, error) {
	fired, err := r.Batch(ctx, run, node, batch)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	children, err := r.CameOf(ctx, run, node, fired.Fold, map[int64][]Token{batch: {token}})
	var rows []int64
	for _, child := range children {
		rows = append(rows, child.Row)
	}
	return rows, err
}

// ChildrenOf returns the rows of the barrier that held a token that came of the token: those that continue it or its
// elements, or those that were made of its whole batch. nil if there is none. The error wraps ErrNotFound if the token
// did not end at a barrier.
func (r *Reader) ChildrenOf(ctx context.Context, run string, token Token) ([]Token, error) {
	in, err := r.BatchOf(ctx, run, token)
	if err != nil {
		return nil, err
	}
	rows, err := r.rowsFrom(ctx, run, in.Node, in.Batch, token)
	if err != nil {
		return nil, err
	}
	var children []Token
	for _, row := range rows {
		child, err := r.RootToken(ctx, run, in.Node, row)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	return children, nil
}
