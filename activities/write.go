package activities

import (
	"context"
	"encoding/hex"
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
	return a.log.FinalizeEffect(ctx, key, effect.Fence, a.worker, landscape.PartReceipt(effect))
}

// apply makes sure that the target holds the part.
func (a *Activities) apply(ctx context.Context, r *run, target plugin.Target, effect landscape.Effect) error {
	part, err := partOf(effect)
	if err != nil {
		return err
	}
	if effect.Fence > 1 {
		if there, err := a.reconcile(ctx, target, effect, part); err != nil || there {
			return err
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

// reconcile reports whether an earlier attempt, of which nobody saw the end, reached the target. The target is asked, unless a
// person has answered for it. If it cannot tell, the effect is blocked: nobody may guess.
func (a *Activities) reconcile(ctx context.Context, target plugin.Target, effect landscape.Effect, part plugin.Part) (there bool, err error) {
	if missing, err := a.log.ResolvedNotApplied(ctx, effect.EffectKey, effect.Fence); err != nil || missing {
		return false, err
	}
	answer, err := target.Check(ctx, part)
	if err != nil {
		return false, err
	}
	if err := a.log.ReconcileEffect(ctx, effect.EffectKey, effect.Fence, a.worker, answer); err != nil {
		return false, err
	}
	if answer == plugin.Unknown {
		return false, fmt.Errorf("the target cannot tell whether it holds the part; look there, and say it with waymark resolve: %w", landscape.ErrBlocked)
	}
	return answer == plugin.Exactly, nil
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

// partOf returns the part of a write effect that has begun.
func partOf(effect landscape.Effect) (plugin.Part, error) {
	if effect.Ordinal == nil || effect.Offset == nil {
		return plugin.Part{}, final{TypeDiverged, errors.New("a part that was begun has no place on record")}
	}
	part := plugin.Part{Ordinal: *effect.Ordinal, Offset: *effect.Offset, Bytes: effect.Bytes, Rows: effect.Rows}
	if n, err := hex.Decode(part.SHA256[:], []byte(effect.SHA256)); err != nil || n != len(part.SHA256) {
		return part, final{TypeDiverged, fmt.Errorf("the digest on record is %q", effect.SHA256)}
	}
	return part, nil
}
