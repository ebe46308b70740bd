package landscape

import (
	"context"
	"errors"
	"fmt"
)

// mergeKey is whom a merge is about.
type mergeKey struct {
	Run    string `db:"run_id,key"`
	Node   string `db:"node,key"`
	Batch  int64  `db:"batch,key"`
	Source string `db:"source"`
	Lane   int64  `db:"lane"`
	Row    int64  `db:"row"`
}

// Table returns merges.
func (mergeKey) Table() string { return "merges" }

// heldMerge looks for the merge of a held coalesce: where the branches of this passage are held, then everywhere.
func (r *Reader) heldMerge(ctx context.Context, run string, all lanes, key Token) (Merged, error) {
	for _, lane := range all.of(key.Source) {
		if !all.below(lane, key.Lane) {
			continue
		}
		merged, err := r.mergeWith(ctx, run, Token{Source: key.Source, Lane: lane.Lane, Row: key.Row})
		if err != nil && !errors.Is(err, ErrNotFound) {
			return Merged{}, err
		}
		if err == nil && merged.Key == key {
			return merged, nil
		}
	}
	return r.searchMerge(ctx, run, key)
}

// below reports whether tokens of the lane are copies of those of the other, or are made of such copies.
func (ls lanes) below(lane Lane, parent int64) bool {
	for ; !lane.IsRoot(); lane = ls[*lane.Parent] {
		if *lane.Parent == parent {
			return true
		}
	}
	return false
}

// mergeWith returns the merge of the batch that holds a token, or for which it came too late. The error wraps ErrNotFound if
// there is none.
func (r *Reader) mergeWith(ctx context.Context, run string, token Token) (Merged, error) {
	in, err := r.BatchOf(ctx, run, token)
	if err != nil {
		return Merged{}, err
	}
	if in.Fired != nil && in.Fired.Of != nil {
		in.Batch = *in.Fired.Of
	}
	return r.MergeOf(ctx, run, in.Node, in.Batch)
}

// searchMerge looks at every merge of the run.
func (r *Reader) searchMerge(ctx context.Context, run string, key Token) (Merged, error) {
	var found *mergeKey
	err := each(ctx, r.from, []any{run}, func(m mergeKey) bool {
		if (Token{Source: m.Source, Lane: m.Lane, Row: m.Row}) == key {
			found = &m
		}
		return found == nil
	})
	if err != nil {
		return Merged{}, err
	}
	if found == nil {
		return Merged{}, fmt.Errorf("merge of row %d of source %s in lane %d: %w", key.Row, key.Source, key.Lane, ErrNotFound)
	}
	return r.MergeOf(ctx, run, found.Node, found.Batch)
}
