package activities

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/plugin"
)

// Write writes one chunk's part to one sink, or several parts of which none has to wait for another one, and records
// the completion of each, and why the target rejected rows of it.
//
// It may run twice: the effect's key is run, sink, source and chunk, each attempt has a fence number, a part always has
// the same bytes and the same place, and a target rejects the same rows of it for ever. After an attempt whose end
// nobody saw, the target is asked first.
func (a *Activities) Write(ctx context.Context, in Batch[WriteInput]) (Results[WriteResult], error) {
	return inBatch(ctx, a, in, untilReady, (*Activities).write)
}

func (a *Activities) write(ctx context.Context, r *run, in WriteInput) (WriteResult, error) {
	node, err := r.sink(in.Sink)
	if err != nil {
		return WriteResult{}, err
	}
	key := landscape.EffectKey{Run: r.id, Sink: in.Sink, Source: in.Source, Chunk: in.Chunk}
	effect, err := a.log.BeginEffect(ctx, key, landscape.Placement{Ordinal: in.Ordinal, Offset: in.Offset}, a.worker)
	if err != nil || effect.State == landscape.Finalized {
		return resultOf(node, effect, effect.Refused), err
	}
	rejected, err := a.deliver(ctx, r, node.Sink.Target(r.id), effect)
	if err != nil {
		return WriteResult{}, errors.Join(fmt.Errorf("sink %s, chunk %d: %w", in.Sink, in.Chunk, err),
			a.log.FailEffect(ctx, effect.Attempt(a.worker), err.Error()))
	}
	err = a.log.FinalizeEffect(ctx, effect.Attempt(a.worker), landscape.PartReceipt(effect), rejected...)
	return resultOf(node, effect, int64(len(rejected))), err
}

// resultOf says how many rows of a part the target holds, and how many that it rejected were not rejected before.
func resultOf(sink *plan.Node, effect landscape.Effect, rejected int64) WriteResult {
	result := WriteResult{Rows: effect.Rows - rejected}
	if !sink.Errors {
		result.Refused = rejected
	}
	return result
}

// deliver makes sure that the target holds the part, and returns what it rejected of it. It takes a place for calls to
// services, and gives it back: what is recorded before and after waits for the other parts of the batch without one.
func (a *Activities) deliver(ctx context.Context, r *run, target plugin.Target, effect landscape.Effect) ([]landscape.Rejection, error) {
	end, err := r.share.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := a.apply(ctx, r, target, effect); err != nil {
		return nil, err
	}
	return a.rejected(ctx, r, target, effect)
}

// apply makes sure that the target holds the part.
func (a *Activities) apply(ctx context.Context, r *run, target plugin.Target, effect landscape.Effect) error {
	part, err := recompute.PartOf(effect)
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
		r.parts.put(partKey{landscape.ChunkKey{Source: effect.Source, Chunk: effect.Chunk}, effect.Sink}, data) // for the next attempt
	}
	return err
}

// rejected asks the target, which holds the part, which of its rows it rejected.
func (a *Activities) rejected(ctx context.Context, r *run, target plugin.Target, effect landscape.Effect) ([]landscape.Rejection, error) {
	rejecter, ok := target.(plugin.RowRejecter)
	if !ok {
		return nil, nil
	}
	part, err := recompute.PartOf(effect)
	if err != nil {
		return nil, err
	}
	rows, err := rejecter.Rejected(ctx, part)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	tokens, err := a.log.SinkTokens(ctx, effect.EffectKey)
	if err != nil {
		return nil, err
	}
	inputs, err := a.fetch(ctx, r, landscape.ChunkKey{Source: effect.Source, Chunk: effect.Chunk})
	if err != nil {
		return nil, err
	}
	rejected := make([]engine.Rejected, len(rows))
	for i, row := range rows {
		if row.Row < 0 || row.Row >= int64(len(tokens)) || i > 0 && row.Row <= rows[i-1].Row {
			return nil, final{TypeTarget, fmt.Errorf("the target says that it refused row %d of a part of %d rows, as number %d", row.Row, len(tokens), i+1)}
		}
		token := tokens[row.Row]
		rejected[i] = engine.Rejected{Lane: int(token.Lane), Index: int(token.Row - inputs.Chunk.FirstRow), Rejection: row.Rejection}
	}
	refused := recompute.Rejections(inputs.Chunk, rejected)
	return refused, a.addAmounts(ctx, r, effect, inputs, refused)
}

// addAmounts says of rejected rows what the totals of the document come to: the rows of the part go through the steps
// again.
func (a *Activities) addAmounts(ctx context.Context, r *run, effect landscape.Effect, in engine.Input, refused []landscape.Rejection) error {
	if len(r.plan.Totals) == 0 {
		return nil
	}
	in.Late = recompute.LateOf(refused)
	result, err := a.compute(ctx, r, landscape.ChunkKey{Source: effect.Source, Chunk: effect.Chunk}, in)
	if err == nil {
		recompute.AddAmounts(r.plan, refused, result)
	}
	return err
}

// reconcile reports whether an earlier attempt, whose end nobody saw, reached the target. The target is asked, unless a
// person has answered for it. If it cannot tell, the effect is blocked: nobody may guess.
func (a *Activities) reconcile(ctx context.Context, target plugin.Target, effect landscape.Effect, part plugin.Part) (there bool, err error) {
	if missing, err := a.log.ResolvedNotApplied(ctx, effect.EffectKey, effect.Fence); err != nil || missing {
		return false, err
	}
	answer, err := target.Check(ctx, part)
	if err != nil {
		return false, err
	}
	if err := a.log.ReconcileEffect(ctx, effect.Attempt(a.worker), answer); err != nil {
		return false, err
	}
	if answer == plugin.Unknown {
		return false, fmt.Errorf("the target cannot tell whether it holds the part; look there, and say it with waymark resolve: %w", landscape.ErrBlocked)
	}
	return answer == plugin.Exactly, nil
}

// data returns the part's bytes: those that the steps left for it, or the same computed again.
func (a *Activities) data(ctx context.Context, r *run, effect landscape.Effect) ([]byte, error) {
	key := landscape.ChunkKey{Source: effect.Source, Chunk: effect.Chunk}
	if data, found := r.parts.take(partKey{key, effect.Sink}); found {
		return data, nil
	}
	inputs, err := a.fetch(ctx, r, key)
	if err != nil {
		return nil, err
	}
	result, err := a.compute(ctx, r, key, inputs)
	if err != nil {
		return nil, err
	}
	part := &result.Parts[r.plan.Find(effect.Sink)]
	if digest := hex.EncodeToString(part.SHA256[:]); digest != effect.SHA256 {
		return nil, final{TypeDiverged, fmt.Errorf("the steps give %s for bytes on record as %s", digest, effect.SHA256)}
	}
	return part.Data, nil
}
