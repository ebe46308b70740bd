package landscape

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// SinkLine returns the token that stands on a line of a sink's output; lines count from 1 and leave a header and what the target
// refused out. Within a part tokens stand by row and lane. The error wraps ErrNotFound if the target did not confirm that line.
func (r *Reader) SinkLine(ctx context.Context, run, sink string, line int64) (Token, error) {
	parts, err := r.SinkParts(ctx, run, sink)
	if err != nil {
		return Token{}, err
	}
	rest := line
	for _, part := range parts {
		if held := part.Rows - part.Refused; rest > held {
			rest -= held
			continue
		}
		if rest < 1 || part.State != Finalized {
			break
		}
		return r.nth(ctx, part, rest)
	}
	return Token{}, fmt.Errorf("row %d of the output of sink %s in run %s: %w", line, sink, run, ErrNotFound)
}

// SinkPart is what of an Effect says where its rows are in the output of a sink.
type SinkPart struct {
	EffectKey
	State   EffectState `db:"state"`
	Rows    int64       `db:"rows"`
	Refused int64       `db:"refused"`
	Ordinal *int64      `db:"ordinal,null"`
}

// Table returns effects.
func (SinkPart) Table() string { return "effects" }

// SinkParts returns the writes of a sink that have a place, in the order of their places; nil or empty if there is none.
func (r *Reader) SinkParts(ctx context.Context, run, sink string) ([]SinkPart, error) {
	effects, err := Select[SinkPart](ctx, r.from, run, sink)
	if err != nil {
		return nil, err
	}
	parts := slices.DeleteFunc(effects, func(e SinkPart) bool { return e.Ordinal == nil })
	slices.SortFunc(parts, func(a, b SinkPart) int { return cmp.Compare(*a.Ordinal, *b.Ordinal) })
	return parts, nil
}

// nth returns the nth token, from 1, that a write holds.
func (r *Reader) nth(ctx context.Context, part SinkPart, n int64) (Token, error) {
	chunk, err := r.Chunk(ctx, part.Run, ChunkKey{part.Source, part.Chunk})
	if err != nil {
		return Token{}, err
	}
	tokens, err := r.sinkTokens(ctx, chunk, part.Sink)
	if err == nil {
		tokens, err = r.kept(ctx, part, chunk, tokens)
	}
	if err != nil {
		return Token{}, err
	}
	if n > int64(len(tokens)) {
		return Token{}, incomplete("the %s says %d rows, the ways say fewer", part.EffectKey, part.Rows)
	}
	return tokens[n-1], nil
}

// SinkTokens returns the tokens of a write, in the order in which the sink gets them: those that its target refused as well.
func (r *Reader) SinkTokens(ctx context.Context, write EffectKey) ([]Token, error) {
	chunk, err := r.Chunk(ctx, write.Run, ChunkKey{write.Source, write.Chunk})
	if err != nil {
		return nil, err
	}
	return r.sinkTokens(ctx, chunk, write.Sink)
}

// HeldTokens returns those tokens of a write that its target holds, in their order: they are on the lines of its part.
func (r *Reader) HeldTokens(ctx context.Context, write EffectKey) ([]Token, error) {
	effect, err := r.Effect(ctx, write)
	if err != nil {
		return nil, err
	}
	chunk, err := r.Chunk(ctx, write.Run, ChunkKey{write.Source, write.Chunk})
	if err != nil {
		return nil, err
	}
	tokens, err := r.sinkTokens(ctx, chunk, write.Sink)
	if err != nil {
		return nil, err
	}
	return r.kept(ctx, SinkPart{EffectKey: write, Refused: effect.Refused}, chunk, tokens)
}

// sinkTokens returns the tokens of a chunk that a sink gets, in the order in which it gets them.
func (r *Reader) sinkTokens(ctx context.Context, chunk Chunk, sink string) ([]Token, error) {
	routes, err := r.AllRoutes(ctx, chunk.Run, chunk.Key())
	if err != nil {
		return nil, err
	}
	tokens := make([]Token, 0, chunk.Rows)
	for i := range int(chunk.Rows) {
		for _, lane := range routes {
			way, err := lane.WayAt(i)
			if err != nil {
				return nil, err
			}
			if way != nil && way.Sink == sink {
				tokens = append(tokens, Token{Source: chunk.Source, Lane: lane.Lane, Row: chunk.FirstRow + int64(i)})
			}
		}
	}
	return tokens, nil
}

// SinkPosition returns the sink that holds a token, and the line on which it stands there. The error wraps ErrNotFound if
// no sink confirmed the token, or its target refused it.
func (r *Reader) SinkPosition(ctx context.Context, run string, token Token) (sink string, line int64, err error) {
	at, err := r.find(ctx, run, token)
	if err != nil {
		return "", 0, err
	}
	if !at.way.ToSink() {
		return "", 0, fmt.Errorf("row %d of source %s in run %s is in no sink: %w", token.Row, token.Source, run, ErrNotFound)
	}
	parts, err := r.SinkParts(ctx, run, at.way.Sink)
	if err != nil {
		return "", 0, err
	}
	for _, part := range parts {
		if part.Source == token.Source && part.Chunk == at.chunk.Chunk && part.State == Finalized {
			n, err := r.place(ctx, part, at.chunk, token)
			return at.way.Sink, line + n, err
		}
		line += part.Rows - part.Refused
	}
	return "", 0, fmt.Errorf("row %d of source %s in run %s: sink %s did not confirm it: %w", token.Row, token.Source, run, at.way.Sink, ErrNotFound)
}

// place returns the place of a token within a write, from 1. The error wraps ErrNotFound if the target refused the token.
func (r *Reader) place(ctx context.Context, part SinkPart, chunk Chunk, token Token) (int64, error) {
	upTo := chunk // those after it do not matter
	upTo.Rows = token.Row - chunk.FirstRow + 1
	tokens, err := r.sinkTokens(ctx, upTo, part.Sink)
	if err == nil {
		tokens, err = r.kept(ctx, part, upTo, tokens)
	}
	if err != nil {
		return 0, err
	}
	if i := slices.Index(tokens, token); i >= 0 {
		return int64(i) + 1, nil
	}
	return 0, fmt.Errorf("row %d of source %s in run %s: the target of sink %s refused it: %w", token.Row, token.Source, part.Run, part.Sink, ErrNotFound)
}
