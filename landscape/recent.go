package landscape

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"
)

// recent is what a process knows of runs in progress because it recorded it itself, or read it just now. It saves
// questions and decides nothing: what is in it either never changes once it is recorded, or the transaction that rests on
// it fails if it has changed. Nil knows nothing.
type recent struct {
	chunks  *lru.Cache[chunkOf, Chunk]
	effects *lru.Cache[EffectKey, Effect] // that this process prepared, or of which it began the last attempt
	ways    *lru.Cache[wayOf, struct{}]
}

type chunkOf struct {
	run string
	ChunkKey
}

type wayOf struct{ run, way string }

// mostRecent is how much of each kind is known: the chunks, parts and ways of many runs that are in progress at once.
const mostRecent = 1 << 12

func newRecent() *recent {
	return &recent{chunks: room[chunkOf, Chunk](), effects: room[EffectKey, Effect](), ways: room[wayOf, struct{}]()}
}

func room[K comparable, V any]() *lru.Cache[K, V] {
	kept, err := lru.New[K, V](mostRecent)
	if err != nil {
		panic(err) // only of a size that makes no sense
	}
	return kept
}

// isNew reports whether a record is not known to be there.
func (r *recent) isNew(record Record) bool {
	known := false
	switch record := record.(type) {
	case WayRecord:
		known = r.knowsWay(wayOf{record.Run, record.Way})
	case WayStepRecord:
		known = r.knowsWay(wayOf{record.Run, record.Way})
	}
	return !known
}

func (r *recent) knowsWay(way wayOf) bool { return r != nil && r.ways.Contains(way) }

// note notes what a transaction stored, or that it stored nothing: then this process may be wrong about what is there.
func (r *recent) note(records []Record, err error) {
	if r == nil {
		return
	}
	for _, record := range records {
		switch record := record.(type) {
		case Chunk:
			r.noteChunk(record, err)
		case WayRecord:
			if err == nil {
				r.ways.Add(wayOf{record.Run, record.Way}, struct{}{})
			}
		case ChunkWayRecord:
			if err != nil {
				r.ways.Remove(wayOf{record.Run, record.Way})
			}
		case Effect:
			r.noteEffect(record, err)
		}
	}
}

func (r *recent) noteChunk(c Chunk, err error) {
	key := chunkOf{c.Run, ChunkKey{Source: c.Source, Chunk: c.Chunk}}
	if r != nil && err == nil {
		r.chunks.Add(key, c)
	}
}

func (r *recent) noteEffect(e Effect, err error) {
	if r != nil && err == nil {
		r.effects.Add(e.EffectKey, e)
	}
}

// takeEffect returns an effect as this process left it. It does so once: who finds that it has changed since reads it.
func (r *recent) takeEffect(key EffectKey) (Effect, bool) {
	if r == nil {
		return Effect{}, false
	}
	e, ok := r.effects.Peek(key)
	r.effects.Remove(key)
	return e, ok
}

// Chunk does what Reader.Chunk says. What is recorded of the chunk's passage next does not ask for it again.
func (l *Log) Chunk(ctx context.Context, run string, at ChunkKey) (Chunk, error) {
	c, err := l.Reader.Chunk(ctx, run, at)
	l.recent.noteChunk(c, err)
	return c, err
}

// chunkToPass returns a chunk of which a passage is to be recorded: the record of that needs the chunk to be there.
func (l *Log) chunkToPass(ctx context.Context, p Passage) (Chunk, error) {
	key := ChunkKey{Source: p.Source, Chunk: p.Chunk}
	if l.recent != nil {
		if c, ok := l.recent.chunks.Get(chunkOf{p.Run, key}); ok {
			return c, nil
		}
	}
	return l.Chunk(ctx, p.Run, key)
}

// lastSeen returns an effect as this process left it, or else as it is recorded. It is for what moves the effect next:
// that fails if the effect has changed.
func (l *Log) lastSeen(ctx context.Context, key EffectKey) (Effect, error) {
	if e, ok := l.recent.takeEffect(key); ok {
		return e, nil
	}
	return l.Effect(ctx, key)
}

// lastBegun is lastSeen for the end of an attempt.
func (l *Log) lastBegun(by Attempt) func(context.Context, EffectKey) (Effect, error) {
	return func(ctx context.Context, key EffectKey) (Effect, error) {
		if e, ok := l.recent.takeEffect(key); ok && e.Fence == by.Fence {
			return e, nil
		}
		return l.Effect(ctx, key)
	}
}
