package activities

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"waymark/barrier"
	"waymark/landscape"
	"waymark/payload"
	"waymark/plan"
)

// FoldBarrier lets a barrier take one step: it takes what one chunk brought, a deadline, or the end of everything, and
// records which batch each token went to, which batches fired, and the rows that came out, all in one transaction.
//
// It may run twice: a step is a pure function of the barrier's state, what arrived and the moment given, and the record's
// key is run, barrier and ordinal of the step.
func (a *Activities) FoldBarrier(ctx context.Context, in FoldInput) (FoldResult, error) {
	defer beat(ctx)()
	out, err := a.foldBarrier(ctx, in)
	return out, toTemporal(err)
}

func (a *Activities) foldBarrier(ctx context.Context, in FoldInput) (FoldResult, error) {
	r, err := a.get(ctx, in.Run)
	if err != nil {
		return FoldResult{}, err
	}
	held, err := r.holding(in.Barrier)
	if err != nil {
		return FoldResult{}, err
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	out, err := a.step(ctx, r, held, in)
	if err != nil {
		held.machine = nil // it may be ahead of the record
		return FoldResult{}, fmt.Errorf("barrier %s, fold %d: %w", in.Barrier, in.Fold, err)
	}
	return out, nil
}

// step brings the barrier to the state before the fold, folds, and records what that gave.
func (a *Activities) step(ctx context.Context, r *run, held *holding, in FoldInput) (FoldResult, error) {
	if err := a.restore(ctx, r, held, in); err != nil {
		return FoldResult{}, err
	}
	arrivals, err := a.arrivals(ctx, r, held, in.Kind, chunkKey{in.Source, in.Chunk})
	if err != nil {
		return FoldResult{}, err
	}
	settled, err := fold(held.machine, in.Kind, in.At, arrivals)
	if err != nil {
		return FoldResult{}, err
	}
	held.folds = in.Fold + 1
	saved, err := a.save(ctx, held, in)
	if err != nil {
		return FoldResult{}, err
	}
	derived := derive(r.plan, held.node, settled, in.Rows, in.Chunks)
	if err := a.recordFold(ctx, r, held, in, saved, arrivals, settled, derived); err != nil {
		return FoldResult{}, err
	}
	for _, d := range slices.Backward(derived) { // if there is no room for all, the last fall off: they are needed last
		r.chunks.put(chunkKey{in.Barrier, d.ordinal}, d.inputs)
	}
	return FoldResult{
		Rows: int64(len(settled.Outs)), Chunks: int64(len(derived)), Deadline: int64(landscape.MicrosOf(held.machine.Deadline())), Saved: saved,
	}, nil
}

// fold gives the machine what the fold is about.
func fold(machine *barrier.Machine, kind string, at int64, arrivals *barrier.Arrivals) (*barrier.Settlement, error) {
	moment := time.UnixMicro(at).UTC()
	switch kind {
	case FoldChunk:
		return machine.Accept(moment, arrivals)
	case FoldTick:
		return machine.Tick(moment)
	default:
		return machine.End(moment)
	}
}

// holding is the state of one barrier of a run, as far as this process knows it.
type holding struct {
	mu      sync.Mutex
	node    int
	name    string
	machine *barrier.Machine // after that many folds; nil if it is not known here
	folds   int64
	saved   int // bytes of the state when it was last looked at
	skipped int // folds since
}

// restore makes the machine as it was before the fold: from the latest state in the payload store that is older, and the
// folds since then, which are on record.
func (a *Activities) restore(ctx context.Context, r *run, held *holding, in FoldInput) error {
	if held.machine != nil && held.folds == in.Fold {
		return nil
	}
	held.machine, held.folds = barrier.New(r.plan, held.node), in.Saved.Folds
	if in.Saved.Digest != "" {
		state, err := a.payloads.Get(ctx, payload.Digest(in.Saved.Digest))
		if err != nil {
			return fmt.Errorf("state after %d folds: %w", in.Saved.Folds, err)
		}
		if err := held.machine.Restore(state); err != nil {
			return fmt.Errorf("state after %d folds: %w: %w", in.Saved.Folds, payload.ErrCorrupt, err)
		}
	}
	return a.replay(ctx, r, held, in.Fold)
}

// replay folds again what is on record up to, but not including, the fold.
func (a *Activities) replay(ctx context.Context, r *run, held *holding, until int64) error {
	folds, err := a.log.Folds(ctx, r.id, held.name)
	if err != nil {
		return err
	}
	if int64(len(folds)) < until {
		return final{TypeDiverged, fmt.Errorf("fold %d is asked for, and %d are on record", until, len(folds))}
	}
	for _, past := range folds[held.folds:until] {
		arrivals, err := a.arrivals(ctx, r, held, string(past.Kind), chunkKey{past.Source, past.Chunk})
		if err != nil {
			return err
		}
		if _, err := fold(held.machine, string(past.Kind), int64(past.At), arrivals); err != nil {
			return err
		}
		held.folds++
	}
	return nil
}

// arrivals returns what a chunk brought to the barrier: what the steps left for it, or the same computed again.
func (a *Activities) arrivals(ctx context.Context, r *run, held *holding, kind string, key chunkKey) (*barrier.Arrivals, error) {
	if kind != FoldChunk {
		return new(barrier.Arrivals), nil
	}
	if came, found := r.arrivals.take(partKey{key, held.name}); found {
		return came, nil
	}
	inputs, err := a.fetch(ctx, r, key)
	if err != nil {
		return nil, err
	}
	result, err := a.compute(ctx, r, inputs)
	if err != nil {
		return nil, err
	}
	if came := result.Arrivals[held.node]; came != nil {
		return came, nil
	}
	return nil, final{TypeDiverged, fmt.Errorf("%s chunk %d brings nothing to %s", key.source, key.chunk, held.name)}
}

// A state is stored after each fold as long as it is small, and else after some: what is lost with a process must not take
// long to make again, and storing it must not take longer than the folds.
const (
	smallState = 64 << 10
	mostFolds  = 16
)

// save stores the state if it is time to.
func (a *Activities) save(ctx context.Context, held *holding, in FoldInput) (SavedFold, error) {
	held.skipped++
	if in.Kind == FoldEnd || held.saved > smallState && held.skipped < mostFolds {
		return SavedFold{}, nil
	}
	state := held.machine.AppendState(nil)
	held.saved = len(state)
	if len(state) > smallState && held.skipped < mostFolds {
		return SavedFold{}, nil
	}
	held.skipped = 0
	digest, err := a.payloads.Put(ctx, state)
	return SavedFold{Digest: string(digest), Folds: in.Fold + 1}, err
}

// holding returns the state of a barrier.
func (r *run) holding(name string) (*holding, error) {
	i := r.plan.Find(name)
	if i == plan.None || !r.plan.Nodes[i].Barrier {
		return nil, final{TypePlanChanged, fmt.Errorf("run %s has no barrier named %q", r.id, name)}
	}
	return r.held[i], nil
}
