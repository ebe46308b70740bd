package activities

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/landscape"
	"waymark/plugin"
)

// WriteChunk writes one chunk's part to one sink and records its completion.
//
// It may run twice: the effect's key is run, sink, source and chunk, each attempt has a fence number, and a part always has
// the same bytes and the same place. After an attempt whose end nobody saw, the target is asked first.
func (a *Activities) WriteChunk(ctx context.Context, in WriteInput) error {
	_, err := attempt(ctx, a, in.Run, in.Epoch, func(ctx context.Context, a *Activities) (none, error) { return none{}, a.writeChunk(ctx, in) })
	return err
}

func (a *Activities) writeChunk(ctx context.Context, in WriteInput) error {
	r, node, err := a.sink(ctx, in.Run, in.Sink)
	if err != nil {
		return err
	}
	key := landscape.EffectKey{Run: in.Run, Sink: in.Sink, Source: in.Source, Chunk: in.Chunk}
	effect, err := a.log.BeginEffect(ctx, key, landscape.Placement{Ordinal: in.Ordinal, Offset: in.Offset}, a.worker)
	if err != nil || effect.State == landscape.Finalized {
		return err
	}
	if err := a.apply(ctx, r, node.Sink.Target(in.Run), effect); err != nil {
		return errors.Join(fmt.Errorf("sink %s, chunk %d: %w", in.Sink, in.Chunk, err),
			a.log.FailEffect(ctx, key, effect.Fence, a.worker, err.Error()))
	}
	receipt, err := json.Marshal(partOf(effect))
	if err != nil {
		return err
	}
	return a.log.FinalizeEffect(ctx, key, effect.Fence, a.worker, string(receipt))
}

// apply makes sure that the target holds the part.
func (a *Activities) apply(ctx context.Context, r *run, target plugin.Target, effect landscape.Effect) error {
	part, err := partOf(effect).part()
	if err != nil {
		return err
	}
	if effect.Fence > 1 {
		answer, err := target.Check(ctx, part)
		if err != nil {
			return err
		}
		if err := a.log.ReconcileEffect(ctx, effect.EffectKey, effect.Fence, a.worker, answer); err != nil {
			return err
		}
		switch answer {
		case plugin.Exactly:
			return nil
		case plugin.Unknown:
			return fmt.Errorf("the target cannot tell whether it holds the part: %w", landscape.ErrBlocked)
		}
	}
	data, err := a.data(ctx, r, effect)
	if err != nil {
		return err
	}
	err = target.Write(ctx, part, data)
	if err != nil {
		r.parts.put(partKey{chunkKey{effect.Source, effect.Chunk}, effect.Sink}, data) // for the next attempt
	}
	return err
}

// data returns the part's bytes: those that the steps left for it, or the same computed again.
func (a *Activities) data(ctx context.Context, r *run, effect landscape.Effect) ([]byte, error) {
	key := chunkKey{effect.Source, effect.Chunk}
	if data, found := r.parts.take(partKey{key, effect.Sink}); found {
		return data, nil
	}
	inputs, err := a.fetch(ctx, r, key)
	if err != nil {
		return nil, err
	}
	result, err := a.compute(ctx, r, inputs)
	if err != nil {
		return nil, err
	}
	part := &result.Parts[r.plan.Find(effect.Sink)]
	if digest := hex.EncodeToString(part.SHA256[:]); digest != effect.SHA256 {
		return nil, final{TypeDiverged, fmt.Errorf("the steps give %s for bytes on record as %s", digest, effect.SHA256)}
	}
	return part.Data, nil
}

// placedPart is where a part is, as its completion record keeps it.
type placedPart struct {
	Ordinal int64  `json:"ordinal"`
	Offset  int64  `json:"offset"`
	Bytes   int64  `json:"bytes"`
	Rows    int64  `json:"rows"`
	SHA256  string `json:"sha256"`
}

// partOf describes the part of a write effect that has begun. One without a place on record has the place -1.
func partOf(effect landscape.Effect) placedPart {
	if effect.Ordinal == nil || effect.Offset == nil {
		return placedPart{Ordinal: -1, Offset: -1, Bytes: effect.Bytes, Rows: effect.Rows, SHA256: effect.SHA256}
	}
	return placedPart{Ordinal: *effect.Ordinal, Offset: *effect.Offset, Bytes: effect.Bytes, Rows: effect.Rows, SHA256: effect.SHA256}
}

func (p placedPart) part() (plugin.Part, error) {
	if p.Ordinal < 0 {
		return plugin.Part{}, final{TypeDiverged, errors.New("a part that was begun has no place on record")}
	}
	out := plugin.Part{Ordinal: p.Ordinal, Offset: p.Offset, Bytes: p.Bytes, Rows: p.Rows}
	if n, err := hex.Decode(out.SHA256[:], []byte(p.SHA256)); err != nil || n != len(out.SHA256) {
		return out, final{TypeDiverged, fmt.Errorf("the digest on record is %q", p.SHA256)}
	}
	return out, nil
}
