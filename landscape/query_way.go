package landscape

import (
	"context"
	"errors"
	"fmt"

	"waymark/pipeline"
)

// laneRoutes returns which way each token of one lane of a chunk took. The error wraps ErrNotFound if the chunk did not go
// through the steps yet, or its source has no such lane.
func (r *Reader) laneRoutes(ctx context.Context, run string, at ChunkKey, lane int64) (LaneRoutes, error) {
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return LaneRoutes{}, err
	}
	about, err := all.at(at.Source, lane)
	if err != nil {
		return LaneRoutes{}, err
	}
	p, err := get[PassageRecord](ctx, r.from, run, at.Source, at.Chunk, lane)
	if errors.Is(err, ErrNotFound) && !about.IsRoot() {
		p, err = get[PassageRecord](ctx, r.from, run, at.Source, at.Chunk, all.root(at.Source))
		return LaneRoutes{Lane: lane, Codes: noTokens(p.Rows)}, err
	}
	if err != nil {
		return LaneRoutes{}, err
	}
	return r.routes(ctx, p, about)
}

// AllRoutes returns which way each token of a chunk took, for every lane in which the chunk has one, by lane. The error
// wraps ErrNotFound if the chunk did not go through the steps yet.
func (r *Reader) AllRoutes(ctx context.Context, run string, at ChunkKey) ([]LaneRoutes, error) {
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return nil, err
	}
	passages, err := Select[PassageRecord](ctx, r.from, run, at.Source, at.Chunk)
	if err != nil {
		return nil, err
	}
	if passages == nil {
		return nil, fmt.Errorf("passages %s/%s/%d: %w", run, at.Source, at.Chunk, ErrNotFound)
	}
	list := make([]LaneRoutes, len(passages))
	for i, p := range passages {
		lane, err := all.at(at.Source, p.Lane)
		if err != nil {
			return nil, err
		}
		if list[i], err = r.routes(ctx, p, lane); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func noTokens(rows int64) []uint16 {
	codes := make([]uint16, rows)
	for i := range codes {
		codes[i] = NoToken
	}
	return codes
}

// routes returns what a passage says.
func (r *Reader) routes(ctx context.Context, p PassageRecord, lane Lane) (LaneRoutes, error) {
	used, err := Select[ChunkWayRecord](ctx, r.from, p.Run, p.Source, p.Chunk, p.Lane)
	if err != nil {
		return LaneRoutes{}, err
	}
	codes, err := unpackCodes(p.WayCodes, p.CodeBytes, !lane.IsRoot())
	if err != nil {
		return LaneRoutes{}, err
	}
	routes := LaneRoutes{Lane: p.Lane, Codes: codes}
	for _, u := range used {
		way, err := r.way(ctx, p.Run, u.Way)
		if err != nil {
			return LaneRoutes{}, err
		}
		routes.Ways = append(routes.Ways, way)
	}
	return routes, nil
}

// WayAt returns the way of record number i of the chunk; nil if it has no token in the lane. The error wraps ErrIncomplete if
// its code means nothing.
func (r LaneRoutes) WayAt(i int) (*Way, error) {
	if i >= len(r.Codes) || r.Codes[i] != NoToken && int(r.Codes[i]) >= len(r.Ways) {
		return nil, incomplete("the way of row %d in lane %d means nothing", i, r.Lane)
	}
	if r.Codes[i] == NoToken {
		return nil, nil //nolint:nilnil // no token is no error
	}
	return &r.Ways[r.Codes[i]], nil
}

// way returns one way of a run.
func (r *Reader) way(ctx context.Context, run, id string) (Way, error) {
	w, err := get[WayRecord](ctx, r.from, run, id)
	if err != nil {
		return Way{}, err
	}
	steps, err := Select[WayStepRecord](ctx, r.from, run, id)
	if err != nil {
		return Way{}, err
	}
	return w.way(steps)
}

// way returns the way of which these are the steps. The error wraps ErrIncomplete if some are missing.
func (w WayRecord) way(steps []WayStepRecord) (Way, error) {
	way := Way{Lane: w.Lane, First: int(w.FirstSeq), Path: pipeline.Path(w.Path), Sink: w.Sink}
	if way.ToSink() && len(steps) > 0 {
		steps = steps[:len(steps)-1]
	}
	if len(steps) == 0 || w.FirstSeq < 0 || w.FirstSeq > int64(len(steps)) {
		return Way{}, incomplete("way %s, or steps of it, are missing", w.Way)
	}
	for _, s := range steps {
		way.Steps = append(way.Steps, Step{Node: s.Node, Label: s.Label, Lane: s.Lane})
	}
	return way, nil
}

// WayOf returns the way of one token. The error wraps ErrNotFound if its row was not read or did not go through the steps
// yet, or has no token in the lane.
func (r *Reader) WayOf(ctx context.Context, run string, token Token) (Way, error) {
	at, err := r.find(ctx, run, token)
	return at.way, err
}

// located is where a token is recorded.
type located struct {
	chunk Chunk
	index int // of its row in the chunk
	way   Way
}

// find returns where a token is recorded.
func (r *Reader) find(ctx context.Context, run string, token Token) (located, error) {
	chunk, err := r.ChunkOf(ctx, run, token.Source, token.Row)
	if err != nil {
		return located{}, err
	}
	routes, err := r.laneRoutes(ctx, run, ChunkKey{token.Source, chunk.Chunk}, token.Lane)
	if err != nil {
		return located{}, err
	}
	index := int(token.Row - chunk.FirstRow)
	way, err := routes.WayAt(index)
	if err != nil {
		return located{}, err
	}
	if way == nil {
		return located{}, fmt.Errorf("token of row %d of source %s in lane %d of run %s: %w", token.Row, token.Source, token.Lane, run, ErrNotFound)
	}
	return located{chunk: chunk, index: index, way: *way}, nil
}

// ErrorsOf returns why a token was refused; nil if it was not.
func (r *Reader) ErrorsOf(ctx context.Context, run string, token Token) ([]RowError, error) {
	return Select[RowError](ctx, r.from, run, token.Source, token.Row, token.Lane)
}
