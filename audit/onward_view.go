package audit

import (
	"context"
	"errors"
	"slices"

	"waymark/landscape"
)

// view is what is recorded of the tokens of one chunk, as far as it was asked for.
type view struct {
	log     *landscape.Reader
	chunk   landscape.Chunk
	routes  []landscape.LaneRoutes             // nil if the chunk did not go through the steps yet
	members map[string][]landscape.LaneMembers // by barrier
	sinks   map[string][]landscape.Token       // by sink: what it got of the chunk, by row and lane
}

// see makes f.view that of the token's chunk. Tokens are looked at in the order of chunks, so one is kept.
func (f *following) see(ctx context.Context, token landscape.Token) error {
	if v := f.view; v != nil && v.chunk.Source == token.Source && v.chunk.FirstRow <= token.Row && token.Row < v.chunk.FirstRow+v.chunk.Rows {
		return nil
	}
	chunk, err := f.log.ChunkOf(ctx, f.run.ID, token.Source, token.Row)
	if err != nil {
		return err
	}
	routes, err := f.log.AllRoutes(ctx, f.run.ID, landscape.ChunkKey{Source: token.Source, Chunk: chunk.Chunk})
	if err != nil && !errors.Is(err, landscape.ErrNotFound) {
		return err
	}
	f.view = &view{
		log: f.log, chunk: chunk, routes: routes, members: map[string][]landscape.LaneMembers{}, sinks: map[string][]landscape.Token{},
	}
	return nil
}

// wayOf returns the way of a token of the chunk; nil if it has none yet.
func (v *view) wayOf(token landscape.Token) (*landscape.Way, error) {
	at := slices.IndexFunc(v.routes, func(r landscape.LaneRoutes) bool { return r.Lane == token.Lane })
	if at < 0 {
		return nil, nil //nolint:nilnil // no way is no error
	}
	return v.routes[at].WayAt(int(token.Row - v.chunk.FirstRow))
}

// batchOf returns the batch of a barrier that has the token of the chunk; 0 if the barrier did not take it yet.
func (v *view) batchOf(ctx context.Context, token landscape.Token, node string) (int64, error) {
	if _, known := v.members[node]; !known {
		members, err := v.log.Members(ctx, v.chunk.Run, node, v.chunk.Key())
		if err != nil {
			return 0, err
		}
		v.members[node] = members
	}
	for _, m := range v.members[node] {
		if m.Lane == token.Lane {
			return int64(m.Batches[token.Row-v.chunk.FirstRow]), nil
		}
	}
	return 0, nil
}

// place returns the place of a token in what a sink got of the chunk, from 1; 0 if it got none such.
func (v *view) place(ctx context.Context, token landscape.Token, write landscape.EffectKey) (int, error) {
	tokens, known := v.sinks[write.Sink]
	if !known {
		var err error
		if tokens, err = v.log.SinkTokens(ctx, write); err != nil {
			return 0, err
		}
		v.sinks[write.Sink] = tokens
	}
	at, got := slices.BinarySearchFunc(tokens, token, landscape.Token.Compare)
	if !got {
		return 0, nil
	}
	return at + 1, nil
}

// fired returns the batch of a barrier, if it fired.
func (f *following) fired(ctx context.Context, node string, batch int64) (landscape.BatchRecord, bool, error) {
	if batch == 0 {
		return landscape.BatchRecord{}, false, nil
	}
	fired, err := f.log.Batch(ctx, f.run.ID, node, batch)
	if errors.Is(err, landscape.ErrNotFound) {
		return fired, false, nil
	}
	return fired, true, err
}

// places are where the writes of one sink stand in its output.
type places struct {
	output string                                     // what was published
	writes map[landscape.EffectKey]landscape.SinkPart // that the target confirmed
	before map[landscape.EffectKey]int64              // lines of the output before the write
}

// placesOf reads where the writes of a sink stand.
func (i *explaining) placesOf(ctx context.Context, sink string) (*places, error) {
	p := &places{writes: map[landscape.EffectKey]landscape.SinkPart{}, before: map[landscape.EffectKey]int64{}}
	parts, err := i.log.SinkParts(ctx, i.run.ID, sink)
	if err != nil {
		return nil, err
	}
	var lines int64
	for _, part := range parts {
		p.before[part.EffectKey] = lines
		lines += part.Rows - part.Refused
		if part.State == landscape.Finalized {
			p.writes[part.EffectKey] = part
		}
	}
	artifacts, err := i.log.Artifacts(ctx, i.run.ID)
	for _, artifact := range artifacts {
		if artifact.Sink == sink {
			p.output = artifact.Path
		}
	}
	return p, err
}

// lineOf returns the line of a token in the output of a sink, 0 if the target did not confirm it yet, or says that the target
// rejected it.
func (f *following) lineOf(ctx context.Context, token landscape.Token, sink string) (line int64, rejected bool, err error) {
	places := f.places[sink]
	if places == nil {
		if places, err = f.placesOf(ctx, sink); err != nil {
			return 0, false, err
		}
		f.places[sink] = places
	}
	key := landscape.EffectKey{Run: f.run.ID, Sink: sink, Source: token.Source, Chunk: f.view.chunk.Chunk}
	write, confirmed := places.writes[key]
	switch {
	case !confirmed:
		return 0, false, nil
	case write.Refused > 0: // then lines are not places
		_, line, err = f.log.SinkPosition(ctx, f.run.ID, token)
		rejected = errors.Is(err, landscape.ErrNotFound)
		if rejected {
			err = nil
		}
		return line, rejected, err
	}
	place, err := f.view.place(ctx, token, key)
	return places.before[key] + int64(place), false, err
}
