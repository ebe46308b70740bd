package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/resumepoint"
)

// fold is a step that a barrier is to take.
type fold struct {
	held *resumepoint.BarrierState
	in   activities.FoldInput
}

// fold lets the barriers of the first steps take them, and returns how many did: several, if none of these barriers can
// get what comes out of another one, else one.
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

func (f *flow) held(barrier string) *resumepoint.BarrierState {
	for i := range f.state.Held {
		if f.state.Held[i].Barrier == barrier {
			return &f.state.Held[i]
		}
	}
	panic(&senseless{fmt.Sprintf("the plan has no barrier named %.64q", barrier)})
}

// foldInput says all that there is to say of a step.
func (f *flow) foldInput(ctx workflow.Context, step fold) activities.FoldInput {
	held, in := step.held, step.in
	in.Barrier, in.Fold, in.Saved, in.Rows, in.Chunks = held.Barrier, held.Folds, held.Saved, held.Rows, held.Chunks
	in.At = max(workflow.Now(ctx).UnixMicro(), in.At)
	return in
}

// folded notes what a step gave.
func (f *flow) folded(step fold, out activities.FoldResult) {
	held := step.held
	f.stickTo(out.Worker)
	f.lastRows[held.Barrier] = out.Rows
	held.Folds++
	held.Rows += out.Rows
	held.Chunks += out.Chunks
	held.Deadline = out.Deadline
	held.Ended = step.in.Kind == activities.FoldEnd
	if out.Saved.Digest != "" {
		held.Saved = out.Saved
	}
}

// sendOn sends what came out of a barrier through the steps after it, chunk by chunk, until all is gone or enough says
// so. With enough it begins nothing while the run is paused.
func (f *flow) sendOn(ctx workflow.Context, held *resumepoint.BarrierState, enough func() bool) error {
	for held.Passed < held.Chunks {
		if enough != nil {
			if err := f.unpaused(ctx); err != nil || enough() {
				return err
			}
		}
		if err := f.sendChunks(ctx, []*resumepoint.BarrierState{held}); err != nil {
			return err
		}
	}
	return nil
}

// sendChunks sends the next chunk of each of the barriers through the steps, and waits until its parts are written: so
// no more parts wait in memory than one chunk has, or several small ones.
func (f *flow) sendChunks(ctx workflow.Context, from []*resumepoint.BarrierState) error {
	var group passing
	for _, held := range from {
		group.chunks = append(group.chunks, activities.PassInput{Mode: f.way.mode(), Source: held.Barrier, Chunk: held.Passed})
	}
	results, err := f.pass(ctx, group)
	if err != nil {
		return err
	}
	for i, held := range from {
		held.Passed++
		f.state.Refused += int64(results[i].Refused)
	}
	writes, err := f.settle(ctx, group.chunks, results, 0)
	if err != nil {
		return err
	}
	return f.await(ctx, writes)
}

// endBarriers empties the barriers, in the order of the plan: what comes out of one may come to a later one. It leaves
// off when somebody stops the run or the history is long enough to be continued as new.
func (f *flow) endBarriers(ctx workflow.Context) error {
	enough := func() bool { return workflow.GetInfo(ctx).GetContinueAsNewSuggested() || !f.running() }
	for rest := f.holdings(); len(rest) > 0; {
		if err := f.unpaused(ctx); err != nil || !f.running() {
			return err
		}
		ended, err := f.end(ctx, rest)
		if err != nil {
			return err
		}
		if err := f.sendAll(ctx, rest[:ended], enough); err != nil {
			return err
		}
		if enough() {
			return nil
		}
		rest = rest[ended:]
	}
	return nil
}

// holdings returns how far each barrier is, in the order of the plan.
func (f *flow) holdings() []*resumepoint.BarrierState {
	held := make([]*resumepoint.BarrierState, len(f.state.Held))
	for i := range held {
		held[i] = &f.state.Held[i]
	}
	return held
}

// end lets the first barriers know that nothing will come any more, and returns how many now do: several, if none of
// them can get what comes out of another one, else one.
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

// sendAll sends on what came out of barriers of which none gets what comes out of another one: what is little,
// together. It leaves off when enough says so.
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
