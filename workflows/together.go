package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/resumepoint"
)

// What is small is done in one batch with its like: to schedule an activity takes Temporal longer than to do something
// small.
const (
	// maxBatch bounds one activity: what is begun must be finished before a command to stop counts.
	maxBatch = 128

	// smallBytes is the size up to which a part is written, and an output published, together with others.
	smallBytes = 64 << 10

	// smallRows is how many rows come out of a barrier that go through the steps together with others.
	smallRows = 1_000
)

// doBatch lets an activity do a batch, and waits for the results.
func doBatch[In, Out any](ctx workflow.Context, f *flow, sticky string, activity any, each []In) ([]Out, error) {
	var results activities.Results[Out]
	in := activities.Batch[In]{Run: f.id, Epoch: f.state.Epoch, Each: each}
	if err := f.perform(ctx, sticky, activity, in).Get(ctx, &results); err != nil {
		return nil, err
	}
	if len(results.Each) != len(each) {
		return nil, nonsense("an activity answered %d of %d things", len(results.Each), len(each))
	}
	return results.Each, nil
}

// next returns the sources that are read next, each a chunk: the next in turn, with those after it if all are small.
func (f *flow) next() []*resumepoint.Reading {
	first := f.state.Next()
	var sources []*resumepoint.Reading
	for i := range f.state.Sources {
		source := &f.state.Sources[i]
		if source.AtEnd || source.Chunk != first.Chunk {
			continue
		}
		if !f.state.Plan.Sources[i].Small || len(sources) == maxBatch {
			break
		}
		sources = append(sources, source)
	}
	if len(sources) == 0 {
		return []*resumepoint.Reading{first}
	}
	return sources
}

// fold is a step that a barrier is to take.
type fold struct {
	held *resumepoint.BarrierState
	in   activities.FoldInput
}

// fold lets the barriers of the first steps take them, and returns how many did: several, if none of these barriers can get
// what comes out of another one, else one.
func (f *flow) fold(ctx workflow.Context, steps []fold) (int, error) {
	n := f.apart(steps)
	inputs := make([]activities.FoldInput, n)
	for i, step := range steps[:n] {
		inputs[i] = f.foldInput(ctx, step)
	}
	what := fmt.Sprintf("%s · %s %d", inputs[0].Barrier, inputs[0].Kind, inputs[0].Fold)
	if n > 1 {
		what = fmt.Sprintf("%d barriers · %s", n, inputs[0].Kind)
	}
	ctx = withActivity(ctx, "fold %s", what)
	results, err := doBatch[activities.FoldInput, activities.FoldResult](ctx, f, f.state.Sticky, act.Fold, inputs)
	for i := range results {
		f.folded(steps[i], results[i])
	}
	return n, err
}

// apart returns how many of the first steps are those of barriers of one depth, each a single step.
func (f *flow) apart(steps []fold) int {
	seen, depth := map[string]bool{}, -1
	for i, step := range steps {
		at := f.depth(step.held.Barrier)
		if i == maxBatch || seen[step.held.Barrier] || i > 0 && at != depth {
			return max(i, 1)
		}
		seen[step.held.Barrier], depth = true, at
	}
	return len(steps)
}

// depth returns how many barriers rows meet at most before this one.
func (f *flow) depth(barrier string) int {
	for _, b := range f.state.Plan.Barriers {
		if b.Name == barrier {
			return b.Depth
		}
	}
	panic(&senseless{fmt.Sprintf("the plan has no barrier named %.64q", barrier)})
}

// passing is chunks in flight, in the order of their turns.
type passing struct {
	chunks []activities.PassInput
	rows   []int // of each; nil for those of barriers
}

// grouped divides chunks that were read into those that go on together: all, or each alone. Where chunks must go through the steps one
// after the other, or deadlines on record come between their turns, each goes alone.
func (f *flow) grouped(group passing) (groups []passing) {
	if !f.way.inTurns && f.state.Redo.Next() == nil && len(group.chunks) > 0 {
		return []passing{group}
	}
	for i := range group.chunks {
		groups = append(groups, passing{group.chunks[i : i+1], group.rows[i : i+1]})
	}
	return groups
}

// summary says what goes through the steps.
func (g passing) summary() string {
	what := fmt.Sprintf("process %d chunks", len(g.chunks))
	if len(g.chunks) == 1 {
		what = fmt.Sprintf("process %s · chunk %d", g.chunks[0].Source, g.chunks[0].Chunk)
	}
	if g.rows == nil {
		return what
	}
	rows := 0
	for _, some := range g.rows {
		rows += some
	}
	return fmt.Sprintf("%s · %d rows", what, rows)
}

// settle gives the parts of chunks their places, begins to write them, and lets barriers take what the chunks brought, one after the
// other, each followed by what comes out of it. turns is how many turns each chunk has: 1 for those of sources, 0 for those of barriers.
// The caller has the turn.
func (f *flow) settle(ctx workflow.Context, chunks []activities.PassInput, passed []activities.PassResult, turns int64) ([]workflow.Future, error) {
	var steps []fold
	for i, chunk := range chunks {
		for _, barrier := range passed[i].Barriers {
			in := activities.FoldInput{Kind: activities.FoldChunk, Source: chunk.Source, Chunk: chunk.Chunk, Turns: f.turns + turns*int64(i)}
			steps = append(steps, fold{f.held(barrier), in})
		}
	}
	var later []part
	var writes []workflow.Future
	taken := 0 // of the steps: these barriers took them, and what came out is not sent on yet
	for i, chunk := range chunks {
		parts := f.place(chunk, passed[i])
		if len(chunks) > 1 {
			parts, later = f.putOff(parts, later)
		}
		writes = append(writes, f.write(ctx, passed[i].Worker, parts)...)
		for range passed[i].Barriers {
			var err error
			if taken == 0 {
				taken, err = f.fold(ctx, steps)
			}
			if err == nil {
				err = f.sendOn(ctx, steps[0].held, nil)
			}
			if err != nil {
				return nil, err
			}
			steps, taken = steps[1:], taken-1
		}
		f.turns += turns
	}
	return append(writes, f.write(ctx, passed[0].Worker, later)...), nil
}

// putOff adds to later the parts that may be written later, and returns those that may not.
func (f *flow) putOff(parts, later []part) (now, put []part) {
	for _, p := range parts {
		if p.inOrder {
			now = append(now, p)
		} else {
			later = append(later, p)
		}
	}
	return now, later
}

// holdings returns how far each barrier is, in the order of the plan.
func (f *flow) holdings() []*resumepoint.BarrierState {
	held := make([]*resumepoint.BarrierState, len(f.state.Held))
	for i := range held {
		held[i] = &f.state.Held[i]
	}
	return held
}

// end lets the first barriers know that nothing will come any more, and returns how many now do: several, if none of them can get what
// comes out of another one, else one.
func (f *flow) end(ctx workflow.Context, barriers []*resumepoint.BarrierState) (int, error) {
	var steps []fold
	for _, held := range barriers {
		if held.Ended {
			break
		}
		steps = append(steps, fold{held, activities.FoldInput{Kind: activities.FoldEnd, Turns: f.turns}})
	}
	if len(steps) == 0 {
		return 1, nil
	}
	return f.fold(ctx, steps)
}

// sendAll sends on what came out of barriers of which none gets what comes out of another one: what is little, together. It leaves off
// when enough says so.
func (f *flow) sendAll(ctx workflow.Context, barriers []*resumepoint.BarrierState, enough func() bool) error {
	barriers = slices.DeleteFunc(slices.Clone(barriers), func(held *resumepoint.BarrierState) bool { return held.Passed == held.Chunks })
	for len(barriers) > 0 {
		if err := f.unpaused(ctx); err != nil || enough() {
			return err
		}
		n := f.little(barriers)
		send := func() error { return f.sendChunks(ctx, barriers[:n]) }
		if n == 0 {
			n, send = 1, func() error { return f.sendOn(ctx, barriers[0], enough) }
		}
		if err := send(); err != nil {
			return err
		}
		barriers = barriers[n:]
	}
	return nil
}

// little returns of how many of the first barriers one chunk of few rows is to be sent on.
func (f *flow) little(barriers []*resumepoint.BarrierState) int {
	for i, held := range barriers {
		rows, known := f.lastRows[held.Barrier]
		if i == maxBatch || f.way.inTurns || held.Chunks-held.Passed != 1 || !known || rows > smallRows {
			return i
		}
	}
	return len(barriers)
}
