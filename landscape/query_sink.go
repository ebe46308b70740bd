package landscape

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// SinkLine returns the row that stands on a line of a sink's output; lines count from 1 and leave a header out. The error
// wraps ErrNotFound if the target did not confirm that line.
func (l *Log) SinkLine(ctx context.Context, run, sink string, line int64) (source string, row int64, err error) {
	parts, err := l.parts(ctx, run, sink)
	if err != nil {
		return "", 0, err
	}
	rest := line
	for _, part := range parts {
		if rest > part.Rows {
			rest -= part.Rows
			continue
		}
		if rest < 1 || part.State != Finalized {
			break
		}
		row, err := l.nth(ctx, part, rest)
		return part.Source, row, err
	}
	return "", 0, fmt.Errorf("line %d of sink %s in run %s: %w", line, sink, run, ErrNotFound)
}

// parts returns the writes of a sink that have a place, in the order of their places.
func (l *Log) parts(ctx context.Context, run, sink string) ([]Effect, error) {
	effects, err := Select[Effect](ctx, l.driver, run, sink)
	if err != nil {
		return nil, err
	}
	parts := slices.DeleteFunc(effects, func(e Effect) bool { return e.Ordinal == nil })
	slices.SortFunc(parts, func(a, b Effect) int { return cmp.Compare(*a.Ordinal, *b.Ordinal) })
	return parts, nil
}

// nth returns the nth row, from 1, that a write holds.
func (l *Log) nth(ctx context.Context, part Effect, n int64) (int64, error) {
	chunk, err := l.Chunk(ctx, part.Run, part.Source, part.Chunk)
	if err != nil {
		return 0, err
	}
	routes, err := l.Routes(ctx, part.Run, part.Source, part.Chunk)
	if err != nil {
		return 0, err
	}
	for i, code := range routes.Codes {
		if routes.Ways[code].Sink == part.Sink {
			if n--; n == 0 {
				return chunk.FirstRow + int64(i), nil
			}
		}
	}
	return 0, fmt.Errorf("the %s says %d rows, the ways say fewer", part.EffectKey, part.Rows)
}

// SinkPosition returns the sink that holds a row, and the line on which it stands there. The error wraps ErrNotFound if
// no sink confirmed the row.
func (l *Log) SinkPosition(ctx context.Context, run, source string, row int64) (sink string, line int64, err error) {
	chunk, err := l.ChunkOf(ctx, run, source, row)
	if err != nil {
		return "", 0, err
	}
	routes, err := l.Routes(ctx, run, source, chunk.Chunk)
	if err != nil {
		return "", 0, err
	}
	i := row - chunk.FirstRow
	way := routes.Ways[routes.Codes[i]]
	if !way.ToSink() {
		return "", 0, fmt.Errorf("row %d of source %s in run %s is in no sink: %w", row, source, run, ErrNotFound)
	}
	for _, code := range routes.Codes[:i+1] {
		if routes.Ways[code].Sink == way.Sink {
			line++
		}
	}
	parts, err := l.parts(ctx, run, way.Sink)
	if err != nil {
		return "", 0, err
	}
	for _, part := range parts {
		if part.Source == source && part.Chunk == chunk.Chunk && part.State == Finalized {
			return way.Sink, line, nil
		}
		line += part.Rows
	}
	return "", 0, fmt.Errorf("row %d of source %s in run %s: sink %s did not confirm it: %w", row, source, run, way.Sink, ErrNotFound)
}
