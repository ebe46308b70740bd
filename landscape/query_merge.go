package landscape

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"waymark/pipeline"
)

// Merged is what became of the branches of a fork parent.
type Merged struct {
	Merge
	Batch int64  // of a held coalesce: the branches that arrived; 0 for a coalesce in the same passage
	Token *Token // the merged token; nil if nothing came of it
}

// MergeOf returns the merge of a batch of a held coalesce. The error wraps ErrNotFound if there is none: the batch did not
// fire yet, or its tokens were not needed.
func (r *Reader) MergeOf(ctx context.Context, run, node string, batch int64) (Merged, error) {
	stored, err := get[MergeRecord](ctx, r.from, run, node, batch)
	if err != nil {
		return Merged{}, err
	}
	kind, err := r.mergeKind(ctx, run, stored.Kind)
	if err != nil {
		return Merged{}, err
	}
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return Merged{}, err
	}
	merge, err := stored.merge(all, kind)
	if err != nil {
		return Merged{}, err
	}
	merged := Merged{Merge: merge, Batch: batch}
	if stored.OutRow != nil {
		merged.Token = &Token{Source: node, Lane: all.root(node), Row: *stored.OutRow}
	}
	return merged, nil
}

func (r *Reader) mergeKind(ctx context.Context, run, id string) (MergeKind, error) {
	stored, err := get[MergeKindRecord](ctx, r.from, run, id)
	if err != nil {
		return MergeKind{}, err
	}
	return stored.kind()
}

// merge returns what is stored in r, offsets and waits to the millisecond.
func (r MergeRecord) merge(all lanes, kind MergeKind) (Merge, error) {
	m := Merge{
		Kind: kind, Key: Token{Source: r.Source, Lane: r.Lane, Row: r.Row}, Wait: time.Duration(r.WaitMS) * time.Millisecond,
	}
	if r.OutRow != nil {
		m.OutRow = *r.OutRow
	}
	var arrivals []mergeArrival
	if err := json.Unmarshal([]byte(r.Arrivals), &arrivals); err != nil {
		return Merge{}, incomplete("arrivals of %s batch %d: %v", r.Node, r.Batch, err)
	}
	for _, a := range arrivals {
		token, err := all.parse(a.Token)
		if err != nil {
			return Merge{}, incomplete("arrivals of %s batch %d: %v", r.Node, r.Batch, err)
		}
		m.Arrivals = append(m.Arrivals, MergeArrival{Branch: a.Branch, Token: token, Offset: time.Duration(a.OffsetMS) * time.Millisecond})
	}
	return m, nil
}

// MergeOfFork returns what a coalesce made of the branches of a fork parent. The error wraps ErrNotFound if the token was not
// forked, no coalesce merges the branches, or it did not decide yet. For a held coalesce to which no branch came without passing another barrier it looks at every merge
// of the run.
func (r *Reader) MergeOfFork(ctx context.Context, run string, key Token) (Merged, error) {
	at, err := r.find(ctx, run, key)
	if err != nil {
		return Merged{}, err
	}
	if at.way.Path != pipeline.ForkParent {
		return Merged{}, fmt.Errorf("row %d of source %s in lane %d was not forked: %w", key.Row, key.Source, key.Lane, ErrNotFound)
	}
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return Merged{}, err
	}
	for _, lane := range all.of(key.Source) {
		if lane.IsMerged() && *lane.Parent == key.Lane && lane.Fork == at.way.Last() {
			return r.mergeInPassage(ctx, all, at, lane)
		}
	}
	return r.heldMerge(ctx, run, all, key)
}

// mergeInPassage returns what the coalesce of a lane made of the branches of the fork parent.
func (r *Reader) mergeInPassage(ctx context.Context, all lanes, key located, lane Lane) (Merged, error) {
	joins, err := r.merges(ctx, key.chunk, lane.Lane)
	if err != nil {
		return Merged{}, err
	}
	if key.index >= len(joins.Codes) || int(joins.Codes[key.index]) >= len(joins.Kinds) {
		return Merged{}, incomplete("row %d was forked, and is not among the joins of %s", key.index, lane.Node)
	}
	kind := joins.Kinds[joins.Codes[key.index]]
	row := key.chunk.FirstRow + int64(key.index)
	merged := Merged{Merge: Merge{Kind: kind, Key: Token{Source: key.chunk.Source, Lane: *lane.Parent, Row: row}}}
	if kind.Result != MergeNothing {
		merged.Token = &Token{Source: key.chunk.Source, Lane: lane.Lane, Row: row}
	}
	routes, err := r.AllRoutes(ctx, key.chunk.Run, key.chunk.Key())
	if err != nil {
		return Merged{}, err
	}
	for _, branch := range kind.Arrived {
		arrived := slices.IndexFunc(routes, func(arriving LaneRoutes) bool {
			way, err := arriving.WayAt(key.index)
			return err == nil && way != nil && way.Path == pipeline.Coalesced && way.Last() == lane.Node && all.under(arriving.Lane, lane, branch)
		})
		if arrived < 0 {
			return Merged{}, incomplete("branch %s of row %d arrived at %s, and no token did", branch, key.index, lane.Node)
		}
		merged.Arrivals = append(merged.Arrivals, MergeArrival{Branch: branch, Token: Token{Source: key.chunk.Source, Lane: routes[arrived].Lane, Row: row}})
	}
	return merged, nil
}

// under reports whether the tokens of a lane come down a branch of the fork that the merged lane merges.
func (ls lanes) under(lane int64, merged Lane, branch string) bool {
	for l := ls[lane]; !l.IsRoot(); l = ls[*l.Parent] {
		if *l.Parent == *merged.Parent && l.Fork == merged.Fork {
			return l.Branch == branch
		}
	}
	return false
}

// merges returns the merges of one lane of a chunk; without codes if there are none.
func (r *Reader) merges(ctx context.Context, chunk Chunk, lane int64) (LaneMerges, error) {
	merged := LaneMerges{Lane: lane}
	stored, err := Select[MergeCodes](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk, lane)
	if err != nil || len(stored) == 0 {
		return merged, err
	}
	used, err := Select[ChunkMerge](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk, lane)
	if err != nil {
		return merged, err
	}
	for _, u := range used {
		kind, err := r.mergeKind(ctx, chunk.Run, u.Kind)
		if err != nil {
			return merged, err
		}
		merged.Kinds = append(merged.Kinds, kind)
	}
	merged.Codes, err = unpackCodes(stored[0].Codes, stored[0].CodeBytes, true)
	return merged, err
}
