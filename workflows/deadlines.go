package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/resumepoint"
)

// watchDeadlines lets barriers take their step when a batch is due, also while nothing is read. It is of no effect for
// plans without barriers.
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

// waitDeadline waits until the earliest deadline and fires what is due then. It returns early when another deadline
// became the earliest, or when there is none to wait for. While the run is paused nothing fires.
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
