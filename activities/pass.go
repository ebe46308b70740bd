package activities

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/engine"
	"waymark/engine/plan"
	"waymark/internal/processors"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// Pass sends a chunk, or each of several that do not depend on each other, through the steps after its source or
// barrier. It records each token's way, the hashes of what came out of each node, the rejected tokens, what coalesces
// decided, and the planned bytes of every sink. With PassAhead it records nothing, and keeps what comes out in memory.
//
// It may run twice: the engine is deterministic, and the record's key is run, source and ordinal of the chunk. In a
// turn, which token is the first with a value is a function of what is recorded of earlier chunks; a chunk that is
// recorded already goes the same ways again. Before that it reads the chunks of a share that was only surveyed.
func (a *Activities) Pass(ctx context.Context, in Batch[PassInput]) (Results[PassResult], error) {
	passed, end := a.shares.passing(ctx, len(in.Each))
	defer end()
	var once sync.Once
	var together *Activities
	read := func(a *Activities, ctx context.Context, r *run) error { return a.readShare(ctx, r, in.Each) }
	pass := func(a *Activities, ctx context.Context, r *run, one PassInput) (PassResult, error) {
		once.Do(func() { together = a.ofStretch(in) })
		return together.pass(ctx, r, one, passed)
	}
	return inBatchAfter(ctx, a, in, untilReady, read, pass)
}

// ofStretch returns activities that read what is recorded of the chunks of a batch at once, if they follow each other.
func (a *Activities) ofStretch(in Batch[PassInput]) *Activities {
	first, last := in.Each[0], in.Each[len(in.Each)-1]
	if first.Source != last.Source {
		return a
	}
	of := *a
	of.log = a.log.Stretch(in.Run, first.Source, first.Chunk, last.Chunk)
	return &of
}

// pass sends a chunk through the steps. passed is called when what remains is to record it.
func (a *Activities) pass(ctx context.Context, r *run, in PassInput, passed func()) (PassResult, error) {
	if r.inTurns == (in.Mode == PassNow) {
		return PassResult{}, resumepoint.Diverged("chunk %d of %s is to go through the steps in the mode %.64q, "+
			"which is not that of run %s", in.Chunk, in.Source, in.Mode, r.id)
	}
	switch in.Mode {
	case PassNow:
		return a.passNow(ctx, r, in, passed)
	case PassAhead:
		return PassResult{Worker: a.affinity.OwnQueue}, a.passAhead(ctx, r, in)
	case PassTurn:
		return a.passInTurn(ctx, r, in)
	}
	return PassResult{}, final{TypeInput, fmt.Errorf("no chunk goes through the steps in the mode %.64q", in.Mode)}
}

// passNow sends a chunk through the steps, and records what came out.
func (a *Activities) passNow(ctx context.Context, r *run, in PassInput, passed func()) (PassResult, error) {
	started := time.Now()
	key := landscape.ChunkKey{Source: in.Source, Chunk: in.Chunk}
	inputs, result, err := a.passChunk(ctx, r, key)
	passed()
	if err != nil {
		return PassResult{}, err
	}
	root, err := a.recordPassage(ctx, r, key, inputs, result, started)
	if err != nil {
		return PassResult{}, fmt.Errorf("source %s, chunk %d: %w", in.Source, in.Chunk, err)
	}
	out := a.handOver(r, key, inputs.Chunk, result)
	out.Root = root
	r.done(inputs.Chunk, result)
	return out, nil
}

// passChunk sends a chunk through the steps in a place, for which it waits before it takes memory.
func (a *Activities) passChunk(ctx context.Context, r *run, key landscape.ChunkKey) (engine.Input, *engine.Result, error) {
	turn, err := r.share.Begin(ctx)
	if err != nil {
		return engine.Input{}, nil, err
	}
	defer turn.End()
	inputs, err := a.inputs(ctx, r, key)
	if err != nil {
		return engine.Input{}, nil, err
	}
	result, err := r.passIn(turn, inputs)
	if err != nil {
		return engine.Input{}, nil, fmt.Errorf("source %s, chunk %d: %w", key.Source, key.Chunk, err)
	}
	return inputs, result, nil
}

// inputs returns what a pass over a chunk begins with: what the reader or a barrier left for it, or the same rebuilt.
func (a *Activities) inputs(ctx context.Context, r *run, key landscape.ChunkKey) (engine.Input, error) {
	if inputs, found := r.chunks.take(key); found {
		return inputs, nil
	}
	return a.fetch(ctx, r, key)
}

// recordPassage records what became of a chunk, and returns the root that seals it.
func (a *Activities) recordPassage(ctx context.Context, r *run, key landscape.ChunkKey, in engine.Input, result *engine.Result, started time.Time) (string, error) {
	ctx, turn := r.share.Beside(ctx)
	defer turn.End()
	passage := recompute.PassageOf(r.plan, r.id, key.Source, key.Chunk, in.Chunk, result)
	passage.Started, passage.Finished = span(a.log.Now(), time.Since(started))
	passage.Attempt, passage.Worker = int64(activity.GetInfo(ctx).Attempt), a.worker
	return a.log.RecordSealed(ctx, passage, recompute.RecordsOf(in))
}

// span returns the times at which work began and ended, by the landscape's clock. The beginning is the end less the
// duration by the monotonic clock: setting the clock while the work runs does not change that, nor puts the beginning
// after the end.
func span(ended landscape.Micros, took time.Duration) (from, to landscape.Micros) {
	return ended - landscape.Micros(max(0, took.Microseconds())), ended
}

// compute runs the engine over a chunk that went through the steps: it gives what it gave then.
func (a *Activities) compute(ctx context.Context, r *run, key landscape.ChunkKey, in engine.Input) (result *engine.Result, err error) {
	if r.inTurns {
		if in.Firsts, err = recompute.Repeats(ctx, a.log.Reader, r.plan, r.id, key.Chunk, in); err != nil {
			return nil, err
		}
	}
	return r.pass(ctx, in)
}

// pass sends a chunk through the steps, unless ctx ends.
func (r *run) pass(ctx context.Context, in engine.Input) (*engine.Result, error) {
	turn, err := r.share.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer turn.End()
	return r.passIn(turn, in)
}

// passIn sends a chunk through the steps, in a turn, unless the context of that ends.
func (r *run) passIn(turn *processors.Turn, in engine.Input) (*engine.Result, error) {
	runner, err := r.runner()
	if err != nil {
		return nil, err
	}
	defer r.runners.Put(runner)
	in.Stop = turn.Breathe
	return runner.Run(in)
}

// handOver keeps the parts and arrivals for what follows, and sums up.
func (a *Activities) handOver(r *run, key landscape.ChunkKey, chunk *plugin.Chunk, result *engine.Result) PassResult {
	out := PassResult{
		Worker: a.affinity.OwnQueue, Rows: chunk.Len(), Refused: len(result.Rejected),
		RefusedBy: map[string]int{}, EndedBy: map[string]int{},
	}
	for _, i := range r.plan.Sinks() {
		part := &result.Parts[i]
		if part.Rows == 0 {
			continue
		}
		name := r.plan.Nodes[i].Name
		r.parts.put(partKey{key, name}, part.Data)
		out.Parts = append(out.Parts, PartSize{Sink: name, Rows: part.Rows, Bytes: int64(len(part.Data))})
	}
	for i, arrivals := range result.Arrivals {
		if arrivals != nil {
			name := r.plan.Nodes[i].Name
			r.arrivals.put(partKey{key, name}, arrivals)
			out.Barriers = append(out.Barriers, name)
		}
	}
	for _, lane := range result.Lanes {
		nodes := make([]string, len(lane.Ways))
		for code, way := range lane.Ways {
			nodes[code] = lastNode(r.plan, way)
			if way.Path == pipeline.FilterDropped || way.Path == pipeline.GateDiscarded {
				out.Ended += way.Rows
				out.EndedBy[nodes[code]] += way.Rows
			}
		}
		for _, rejected := range result.Rejected {
			if rejected.Lane == lane.Lane {
				out.RefusedBy[nodes[lane.Codes[rejected.Index]]]++
			}
		}
	}
	return out
}

// lastNode is the node at which a way ended, and not the sink to which its rows were sent from there.
func lastNode(p *plan.Plan, way engine.Way) (name string) {
	for _, step := range recompute.WayOf(p, 0, way).Steps {
		name = step.Node
	}
	return name
}
