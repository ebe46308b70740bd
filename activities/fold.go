package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
)

// Fold lets a barrier, or each of several, take one step. None of several may receive rows of another one. A step takes
// what one chunk brought, a deadline, or the end of the input, and records which batch each token went to, which batches
// fired, and the rows that came out, all in one transaction.
//
// It may run twice: a step is a pure function of the barrier's state, what arrived and the moment given, and the
// record's key is run, barrier and ordinal of the step.
func (a *Activities) Fold(ctx context.Context, in Batch[FoldInput]) (Results[FoldResult], error) {
	return inBatch(ctx, a, in, inPassing, (*Activities).fold)
}

func (a *Activities) fold(ctx context.Context, r *run, in FoldInput) (FoldResult, error) {
	held, err := r.holding(in.Barrier)
	if err != nil {
		return FoldResult{}, err
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	ctx, turn := r.share.Beside(ctx)
	defer turn.End()
	f := folding{Activities: a, run: r, held: held, in: in}
	if err := f.takeMoment(ctx); err != nil {
		return FoldResult{}, err
	}
	if err := f.do(ctx); err != nil {
		held.machine = nil // it may be ahead of the record
		return FoldResult{}, fmt.Errorf("barrier %s, fold %d: %w", in.Barrier, in.Fold, err)
	}
	return f.result(), nil
}

// takeMoment takes the moment of the fold on record, if it is: a run that was resumed repeats it as it was.
func (f *folding) takeMoment(ctx context.Context) error {
	in := &f.in
	if f.epoch == 0 {
		return nil
	}
	record, err := f.log.Fold(ctx, f.run.id, in.Barrier, in.Fold)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return nil
	case err != nil:
		return err
	case string(record.Kind) != in.Kind, in.Kind == FoldChunk && (record.Source != in.Source || record.Chunk != in.Chunk):
		return resumepoint.Diverged("fold %d of %s is a %s of %s %d on record, and would be a %s of %s %d",
			in.Fold, in.Barrier, record.Kind, record.Source, record.Chunk, in.Kind, in.Source, in.Chunk)
	}
	in.At, f.repeats = int64(record.At), true
	return nil
}

// folding is one fold in the making.
type folding struct {
	*Activities
	run     *run
	held    *holding
	in      FoldInput
	repeats bool // what is recorded

	arrivals *barrier.Arrivals
	settled  *barrier.Settlement
	rows     int64 // that came out
	chunks   []recompute.Derived
	state    []byte // of the barrier after the fold, if it is to be stored; else nil
	saved    resumepoint.SavedFold
}

// do brings the barrier to the state before the fold, folds, and records what that gave.
func (f *folding) do(ctx context.Context) (err error) {
	if err = f.restore(ctx); err != nil {
		return err
	}
	if !f.repeats {
		f.in.At = max(f.in.At, f.held.at) // a clock that was set back makes no batch fire before it was opened
	}
	if f.arrivals, err = f.arrivalsOf(ctx, f.in.Kind, landscape.ChunkKey{Source: f.in.Source, Chunk: f.in.Chunk}); err != nil {
		return err
	}
	if f.settled, err = fold(f.held.machine, f.in.Kind, f.in.At, f.arrivals); err != nil {
		return err
	}
	f.held.folds, f.held.at = f.in.Fold+1, f.in.At
	f.chunks, f.rows = recompute.Derive(f.run.plan, f.held.node, f.settled, f.in.Rows, f.in.Chunks), int64(len(f.settled.Outs))
	f.save()
	return f.record(ctx)
}

// result leaves the rows that came out for the steps that follow, and sums up.
func (f *folding) result() FoldResult {
	for _, d := range slices.Backward(f.chunks) { // if there is no room for all, the last fall off: they are needed last
		f.run.chunks.put(landscape.ChunkKey{Source: f.held.name, Chunk: d.Ordinal}, d.Input)
	}
	return FoldResult{
		Rows: f.rows, Chunks: int64(len(f.chunks)),
		Deadline: int64(landscape.MicrosOf(f.held.machine.Deadline())), Saved: f.saved, Worker: f.affinity.OwnQueue,
	}
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
	at      int64 // moment of the last of them, in microseconds since 1970
	saved   int   // bytes of the state when it was last looked at
	skipped int   // folds since
}

// restore makes the machine as it was before the fold: from the latest state in the payload store that is older, and
// the folds since then, which are recorded.
func (f *folding) restore(ctx context.Context) error {
	held, saved := f.held, f.in.Saved
	if held.machine != nil && held.folds == f.in.Fold {
		return nil
	}
	held.machine, held.folds, held.at = barrier.New(f.run.plan, held.node), saved.Folds, 0
	if saved.Digest != "" {
		state, err := f.payloads.Get(ctx, payload.Digest(saved.Digest))
		if err != nil {
			return fmt.Errorf("state after %d folds: %w", saved.Folds, err)
		}
		if err := held.machine.Restore(state); err != nil {
			return fmt.Errorf("state after %d folds: %w: %w", saved.Folds, payload.ErrCorrupt, err)
		}
	}
	return f.replay(ctx, f.in.Fold)
}

// replay folds again what is recorded up to, but not including, the fold.
func (f *folding) replay(ctx context.Context, until int64) error {
	folds, err := f.log.Folds(ctx, f.run.id, f.held.name)
	if err != nil {
		return err
	}
	if int64(len(folds)) < until {
		return final{TypeDiverged, fmt.Errorf("fold %d is asked for, and %d are recorded", until, len(folds))}
	}
	for _, past := range folds[f.held.folds:until] {
		arrivals, err := f.arrivalsOf(ctx, string(past.Kind), landscape.ChunkKey{Source: past.Source, Chunk: past.Chunk})
		if err != nil {
			return err
		}
		if _, err := fold(f.held.machine, string(past.Kind), int64(past.At), arrivals); err != nil {
			return err
		}
		f.held.folds++
	}
	if until > 0 {
		f.held.at = int64(folds[until-1].At)
	}
	return nil
}

// arrivalsOf returns what a chunk brought to the barrier: what the steps left for it, or the same computed again.
func (f *folding) arrivalsOf(ctx context.Context, kind string, key landscape.ChunkKey) (*barrier.Arrivals, error) {
	if kind != FoldChunk {
		return new(barrier.Arrivals), nil
	}
	if came, found := f.run.arrivals.take(partKey{key, f.held.name}); found {
		return came, nil
	}
	inputs, err := f.fetch(ctx, f.run, key)
	if err != nil {
		return nil, err
	}
	result, err := f.compute(ctx, f.run, key, inputs)
	if err != nil {
		return nil, err
	}
	if came := result.Arrivals[f.held.node]; came != nil {
		return came, nil
	}
	return nil, final{TypeDiverged, fmt.Errorf("%s chunk %d brings nothing to %s", key.Source, key.Chunk, f.held.name)}
}

// A state is stored after each fold as long as it is small, and else after some: what is lost with a process must not
// take long to make again, and storing it must not take longer than the folds.
const (
	smallState = 64 << 10
	mostFolds  = 16
)

// save takes the state, to be stored with the fold, if it is time to.
func (f *folding) save() {
	held := f.held
	held.skipped++
	if f.in.Kind == FoldEnd || held.saved > smallState && held.skipped < mostFolds {
		return
	}
	state := held.machine.AppendState(nil)
	held.saved = len(state)
	if len(state) > smallState && held.skipped < mostFolds {
		return
	}
	held.skipped = 0
	f.state, f.saved = state, resumepoint.SavedFold{Digest: string(payload.Of(state)), Folds: f.in.Fold + 1}
}

// holding returns the state of a barrier.
func (r *run) holding(name string) (*holding, error) {
	i := r.plan.Find(name)
	if i == plan.None || !r.plan.Nodes[i].Barrier {
		return nil, final{TypePlanChanged, fmt.Errorf("run %s has no barrier named %q", r.id, name)}
	}
	return r.held[i], nil
}
