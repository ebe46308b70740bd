package activities

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/engine"
	"waymark/engine/firsts"
	"waymark/landscape"
)

// Where values must be unique, chunks must be recorded in the order of their turns: then it is a function of what is
// recorded which token is the first with a value. Nothing else hangs on the order. So a chunk goes through the steps
// ahead of its turn, with what is known then of earlier chunks. In its turn it is checked against an index of all
// earlier values, and goes through the steps again only if one of its values has come into the index in the meantime.

// uniqueIndex is what a run's tokens have brought of what must be unique, in the order of turns, as far as this process
// knows it.
type uniqueIndex struct {
	mu    sync.Mutex    // held by a chunk that has its turn
	index *firsts.Index // nil: of nothing yet
	held  int64         // chunks that the index holds: those that had their turns first; all are recorded
	alone atomic.Int64  // so many more chunks go through the steps in their turns alone

	opening sync.Mutex // held while index is made or released
}

// aloneAfter is how many chunks go through the steps in their turns alone after one that had to go twice: data with a
// repeat here has the next one soon.
const aloneAfter = 8

// open returns the index.
func (u *uniqueIndex) open(folder string) *firsts.Index {
	u.opening.Lock()
	defer u.opening.Unlock()
	if u.index == nil {
		u.index = firsts.New(folder)
	}
	return u.index
}

// close releases the index.
func (u *uniqueIndex) close() error {
	u.opening.Lock()
	defer u.opening.Unlock()
	if u.index == nil {
		return nil
	}
	return u.index.Close()
}

// ahead is a chunk that went through the steps ahead of its turn.
type ahead struct {
	inputs engine.Input
	result *engine.Result // nil if the chunk has to go through the steps in its turn
	layer  *firsts.Layer
}

// passAhead sends a chunk through the steps ahead of its turn, and keeps what comes out in memory. Nothing depends on
// it: a process that does not have it sends the chunk through the steps in its turn.
func (a *Activities) passAhead(ctx context.Context, r *run, in PassInput) error {
	if r.unique.alone.Load() > 0 {
		r.unique.alone.Add(-1)
		return nil
	}
	key := landscape.ChunkKey{Source: in.Source, Chunk: in.Chunk}
	inputs, err := a.inputs(ctx, r, key)
	if err != nil {
		return err
	}
	r.ahead.put(key, a.tryPass(ctx, r, inputs))
	return context.Cause(ctx)
}

// tryPass sends a chunk through the steps with what is known. What fails, or stops the run, must do so in the chunk's
// turn.
func (a *Activities) tryPass(ctx context.Context, r *run, inputs engine.Input) ahead {
	layer := r.unique.open(a.affinity.Scratch).Layer()
	passing := inputs
	passing.Firsts = recompute.Lookup(layer.First)
	result, err := r.pass(ctx, passing)
	if err != nil {
		return ahead{inputs: inputs}
	}
	return ahead{inputs, result, layer}
}

// passInTurn sends a chunk that has its turn through the steps, unless passAhead has and no earlier chunk has brought
// one of its values since, and records what came out.
func (a *Activities) passInTurn(ctx context.Context, r *run, in PassInput) (PassResult, error) {
	started := time.Now()
	r.unique.mu.Lock()
	defer r.unique.mu.Unlock()
	key := landscape.ChunkKey{Source: in.Source, Chunk: in.Chunk}
	passed, err := a.settled(ctx, r, key, in.Before)
	var root string
	if err == nil {
		root, err = a.recordPassage(ctx, r, key, passed.inputs, passed.result, started)
	}
	if err == nil && passed.layer != nil {
		err = r.unique.commit(passed.layer, in.Before)
	}
	if err != nil {
		return PassResult{}, fmt.Errorf("source %s, chunk %d: %w", in.Source, in.Chunk, err)
	}
	out := a.handOver(r, key, passed.inputs.Chunk, passed.result)
	out.Root = root
	return out, nil
}

// commit adds what a chunk brought to the index, once it is recorded.
func (u *uniqueIndex) commit(layer *firsts.Layer, before int64) error {
	if u.held != before {
		return nil // the index holds what the record told it meanwhile
	}
	if err := layer.Settle(); err != nil {
		return err
	}
	u.held++
	return nil
}

// settled returns what becomes of a chunk in its turn, with what it brings to the index; no layer if it is recorded
// already.
func (a *Activities) settled(ctx context.Context, r *run, key landscape.ChunkKey, before int64) (passed ahead, err error) {
	passed, found := r.ahead.take(key)
	if !found {
		if passed.inputs, err = a.inputs(ctx, r, key); err != nil {
			return passed, err
		}
	}
	recorded, err := a.log.Passed(ctx, r.id, key)
	if err != nil {
		return passed, err
	}
	if recorded {
		passed.layer = nil
		passed.result, err = a.compute(ctx, r, key, passed.inputs)
		return passed, err
	}
	if err := a.catchUp(ctx, r, before); err != nil {
		return passed, err
	}
	if passed.result != nil {
		stands, err := passed.layer.Stands()
		if err != nil || stands {
			return passed, err
		}
		r.unique.alone.Store(aloneAfter)
	}
	return r.passInTurn(ctx, passed.inputs)
}

// passInTurn sends a chunk through the steps, given that the index holds all earlier ones.
func (r *run) passInTurn(ctx context.Context, inputs engine.Input) (ahead, error) {
	layer := r.unique.index.Layer()
	passing := inputs
	passing.Firsts = recompute.Lookup(layer.First)
	result, err := r.pass(ctx, passing)
	return ahead{inputs, result, layer}, err
}

// catchUp brings into the index what is recorded and not in it: all, in a process that takes over.
func (a *Activities) catchUp(ctx context.Context, r *run, before int64) error {
	index := r.unique.open(a.affinity.Scratch)
	if r.unique.held >= before {
		return nil
	}
	chunks, err := resumepoint.PassedInTurn(ctx, a.log.Reader, r.plan, r.id)
	if err != nil {
		return err
	}
	if int64(len(chunks)) < before {
		return resumepoint.Diverged("%d chunks went through the steps on record, and %d had their turns", len(chunks), before)
	}
	runner, err := r.runner()
	if err != nil {
		return err
	}
	defer r.runners.Put(runner)
	for _, chunk := range chunks[r.unique.held:] {
		in, err := recompute.Chunk(ctx, a.log.Reader, a.payloads, r.plan, chunk)
		if err != nil {
			return err
		}
		in.Firsts = recompute.Lookup(index.First)
		if err := runner.Claim(in); err != nil {
			return fmt.Errorf("source %s, chunk %d: %w", chunk.Source, chunk.Chunk, err)
		}
		r.unique.held++
	}
	return nil
}
