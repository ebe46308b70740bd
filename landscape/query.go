package landscape

import (
	"context"
	"fmt"
	"iter"
	"strings"
)

// Runs returns all runs, oldest id first.
func (l *Log) Runs(ctx context.Context) ([]RunHead, error) {
	return Select[RunHead](ctx, l.driver)
}

// Run returns the run with this id. The error wraps ErrNotFound if there is none.
func (l *Log) Run(ctx context.Context, id string) (Run, error) {
	run, err := get[Run](ctx, l.driver, id)
	if err != nil {
		return Run{}, fmt.Errorf("run %q: %w", id, err)
	}
	return run, nil
}

// FindRun returns the run with this id, or the only run whose id begins with it. The error wraps ErrNotFound if there is
// none; if there are several it lists them.
func (l *Log) FindRun(ctx context.Context, idOrPrefix string) (Run, error) {
	runs, err := l.Runs(ctx)
	if err != nil {
		return Run{}, err
	}
	var matches []string
	for _, r := range runs {
		if r.ID == idOrPrefix {
			return get[Run](ctx, l.driver, r.ID)
		}
		if idOrPrefix != "" && strings.HasPrefix(r.ID, idOrPrefix) {
			matches = append(matches, r.ID)
		}
	}
	switch len(matches) {
	case 0:
		return Run{}, fmt.Errorf("run %q: %w", idOrPrefix, ErrNotFound)
	case 1:
		return get[Run](ctx, l.driver, matches[0])
	default:
		const most = 5
		shown, more := matches, ""
		if len(matches) > most {
			shown, more = matches[:most], fmt.Sprintf(" and %d more", len(matches)-most)
		}
		return Run{}, fmt.Errorf("run %q is the beginning of %s%s: give more of the id", idOrPrefix, strings.Join(shown, ", "), more)
	}
}

// Nodes returns the nodes of a run by name.
func (l *Log) Nodes(ctx context.Context, run string) ([]Node, error) {
	return Select[Node](ctx, l.driver, run)
}

// Edges returns the edges of a run by node, kind and label.
func (l *Log) Edges(ctx context.Context, run string) ([]Edge, error) {
	return Select[Edge](ctx, l.driver, run)
}

// Sources returns the sources of a run by name.
func (l *Log) Sources(ctx context.Context, run string) ([]Source, error) {
	return Select[Source](ctx, l.driver, run)
}

// SourceEnds returns the sources of a run that were read to their end, by name.
func (l *Log) SourceEnds(ctx context.Context, run string) ([]SourceEnd, error) {
	return Select[SourceEnd](ctx, l.driver, run)
}

// Effects returns the effects of a run by sink; of each sink first its publication, then its writes by source and chunk.
func (l *Log) Effects(ctx context.Context, run string) ([]Effect, error) {
	return Select[Effect](ctx, l.driver, run)
}

// SinkEffects returns the effects of one sink: first its publication, then its writes by source and chunk.
func (l *Log) SinkEffects(ctx context.Context, run, sink string) ([]Effect, error) {
	return Select[Effect](ctx, l.driver, run, sink)
}

// Effect returns one effect. The error wraps ErrNotFound if there is none.
func (l *Log) Effect(ctx context.Context, key EffectKey) (Effect, error) {
	return get[Effect](ctx, l.driver, key.Run, key.Sink, key.Source, key.Chunk)
}

// Attempted reports whether an attempt to write to the sink, or to publish its output, has begun. It reads no further than to
// the first.
func (l *Log) Attempted(ctx context.Context, run, sink string) (attempted bool, err error) {
	err = each(ctx, l.driver, []any{run, sink}, func(e Effect) bool {
		attempted = e.Fence > 0
		return !attempted
	})
	return attempted, err
}

// EffectEvents returns what happened to the effects of a run, by effect and attempt.
func (l *Log) EffectEvents(ctx context.Context, run string) ([]EffectEvent, error) {
	return Select[EffectEvent](ctx, l.driver, run)
}

// Artifacts returns what a run published, by sink.
func (l *Log) Artifacts(ctx context.Context, run string) ([]ArtifactRecord, error) {
	return Select[ArtifactRecord](ctx, l.driver, run)
}

// Actions returns what was done to a run, in order.
func (l *Log) Actions(ctx context.Context, run string) ([]Action, error) {
	return Select[Action](ctx, l.driver, run)
}

// Events returns what happened to a run, in order.
func (l *Log) Events(ctx context.Context, run string) ([]RunEvent, error) {
	return Select[RunEvent](ctx, l.driver, run)
}

// Heals returns all payload healings, by digest and time.
func (l *Log) Heals(ctx context.Context) ([]Heal, error) {
	return Select[Heal](ctx, l.driver)
}

// Sweep returns what is wrong with a run that claims to be complete; nil if nothing is. deep looks at every token, not
// only at counts.
func (l *Log) Sweep(ctx context.Context, run string, deep bool) ([]Finding, error) {
	return l.driver.Sweep(ctx, run, deep)
}

// Chunks returns the chunks of a source in order, as they are when the loop begins. After an error it ends.
func (l *Log) Chunks(ctx context.Context, run, source string) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		chunks, err := Select[Chunk](ctx, l.driver, run, source)
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// Chunk returns one chunk. The error wraps ErrNotFound if it was not read yet.
func (l *Log) Chunk(ctx context.Context, run, source string, chunk int64) (Chunk, error) {
	return get[Chunk](ctx, l.driver, run, source, chunk)
}

// ChunkOf returns the chunk that holds a row. The error wraps ErrNotFound if it was not read, or is not there.
func (l *Log) ChunkOf(ctx context.Context, run, source string, row int64) (Chunk, error) {
	for c, err := range l.Chunks(ctx, run, source) {
		if err != nil {
			return Chunk{}, err
		}
		if c.FirstRow <= row && row < c.FirstRow+c.Rows {
			return c, nil
		}
	}
	return Chunk{}, fmt.Errorf("row %d of source %s in run %s: %w", row, source, run, ErrNotFound)
}

// Records returns the columns of a chunk's records.
func (l *Log) Records(ctx context.Context, run, source string, chunk int64) (Records, error) {
	slices, err := Select[ChunkRowsRecord](ctx, l.driver, run, source, chunk)
	if err != nil {
		return Records{}, err
	}
	var r Records
	for _, s := range slices {
		r.Offsets, r.Lengths, r.Lines = unpack(r.Offsets, s.Offsets), unpack(r.Lengths, s.Lengths), unpack(r.Lines, s.Lines)
		r.Hashes = append(r.Hashes, s.RawHashes...)
	}
	return r, nil
}
