package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/resumepoint"
)

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

// sendOn sends what came out of a barrier through the steps after it, chunk by chunk, until all is gone or enough says so. With
// enough it begins nothing while the run is paused.
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

// sendChunks sends the next chunk of each of the barriers through the steps, and waits until its parts are written: so no more parts
// wait in memory than one chunk has, or several small ones.
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

// endBarriers empties the barriers, in the order of the plan: what comes out of one may come to a later one. It leaves off
// when somebody stops the run or the history is long enough to be continued as new.
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

// watchDeadlines lets barriers take their step when a batch is due, also while nothing is read. It is of no effect for plans
// without barriers.
func (f *flow) watchDeadlines(ctx workflow.Context) {
	if len(f.state.Held) == 0 {
		return
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for f.err == nil && (!f.readingDone || f.state.Redo.Next() != nil) {
			if err := f.waitDeadline(ctx); err != nil {
				f.fail(err)
			}
		}
	})
}

// waitDeadline waits until the earliest deadline and fires what is due then. It returns early when another deadline became
// the earliest, or when there is none to wait for. While the run is paused nothing fires.
func (f *flow) waitDeadline(ctx workflow.Context) (err error) {
	defer stopped(&err)
	if tick := f.state.Redo.Next(); tick != nil {
		return f.redoTick(ctx, *tick)
	}
	deadline := f.state.deadline()
	changed := func() bool { return f.state.deadline() != deadline || f.readingDone || f.err != nil }
	if deadline == 0 {
		return workflow.Await(ctx, changed)
	}
	early, err := workflow.AwaitWithTimeout(ctx, time.UnixMicro(deadline).Sub(workflow.Now(ctx)), changed)
	if err != nil || early {
		return err
	}
	free := func() bool { return !f.settling && f.state.Paused == nil && f.state.Redo.MayTick(f.turns) }
	if err := workflow.Await(ctx, func() bool { return free() || changed() }); err != nil || changed() {
		return err
	}
	return f.fire(ctx, deadline)
}

// redoTick acts once more on a deadline that was acted on before the run was resumed, at the same place in the order
// of turns.
func (f *flow) redoTick(ctx workflow.Context, tick resumepoint.Tick) error {
	if err := workflow.Await(ctx, func() bool { return f.turns == tick.Turns && !f.settling || f.err != nil }); err != nil || f.err != nil {
		return err
	}
	if err := f.fire(ctx, tick.Deadline); err != nil {
		return err
	}
	f.state.Redo.Ticks = f.state.Redo.Ticks[1:]
	return nil
}

// tickFirst reports whether a deadline that is recorded comes before the next chunk's turn.
func (f *flow) tickFirst() bool {
	tick := f.state.Redo.Next()
	return tick != nil && tick.Turns == f.turns
}

// fire takes the turn for what is due at the deadline.
func (f *flow) fire(ctx workflow.Context, deadline int64) error {
	f.settling = true
	f.inFlight++
	defer func() { f.inFlight-- }()
	if err := f.fireDue(ctx, deadline); err != nil {
		return err
	}
	f.settling = false
	return nil
}

// fireDue lets every barrier with a batch that is due take its step.
func (f *flow) fireDue(ctx workflow.Context, now int64) error {
	for i := range f.state.Held {
		held := &f.state.Held[i]
		if held.Deadline == 0 || held.Deadline > now {
			continue
		}
		tick := fold{held, activities.FoldInput{Kind: activities.FoldTick, At: now, Turns: f.turns}}
		if _, err := f.fold(ctx, []fold{tick}); err != nil {
			return err
		}
		if err := f.sendOn(ctx, held, nil); err != nil {
			return err
		}
	}
	return nil
}

func (f *flow) held(barrier string) *resumepoint.BarrierState {
	for i := range f.state.Held {
		if f.state.Held[i].Barrier == barrier {
			return &f.state.Held[i]
		}
	}
	panic(&senseless{fmt.Sprintf("the plan has no barrier named %.64q", barrier)})
}
