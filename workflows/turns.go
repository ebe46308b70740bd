package workflows

import (
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
)

// begin sends chunks that were read through the steps.
func (f *flow) begin(ctx workflow.Context, turn int64, group passing) {
	f.inFlight += len(group.chunks)
	f.turnsAhead++
	f.unpassed++
	workflow.Go(ctx, func(ctx workflow.Context) {
		if err := f.processSafely(ctx, turn, group); err != nil {
			f.fail(err)
		}
		f.inFlight -= len(group.chunks)
		f.show(ctx)
	})
}

// processSafely is process for a coroutine of its own.
func (f *flow) processSafely(ctx workflow.Context, turn int64, group passing) (err error) {
	defer stopped(&err)
	return f.process(ctx, turn, group)
}

// process sends chunks that were read one after the other through the steps and, in their turns, to the sinks and
// barriers. turn is that of the first.
func (f *flow) process(ctx workflow.Context, turn int64, group passing) error {
	if f.way.inTurns {
		if err := f.passAhead(ctx, group); err != nil {
			return err
		}
		if err := f.takeTurn(ctx, turn); err != nil {
			return err
		}
	}
	results, err := f.pass(ctx, group)
	if err != nil {
		return err
	}
	f.unpassed--
	if !f.way.inTurns {
		if err := f.takeTurn(ctx, turn); err != nil {
			return err
		}
	}
	writes, err := f.settle(ctx, group.chunks, results, 1)
	if err != nil {
		return err
	}
	f.settling = false
	f.turnsAhead--
	if err := f.await(ctx, writes); err != nil {
		return err
	}
	for _, result := range results {
		f.state.Done += int64(result.Rows)
		f.state.Refused += int64(result.Refused)
	}
	return nil
}

// pass sends chunks through the steps. Where the order counts, that is one, on the process that knows what came in
// earlier turns.
func (f *flow) pass(ctx workflow.Context, group passing) ([]activities.PassResult, error) {
	sticky := f.stickyQueue(ctx)
	if sticky != "" {
		f.stickyChunks++
		defer func() { f.stickyChunks-- }()
	}
	if f.way.inTurns {
		group.chunks[0].Before = f.passed
	}
	ctx = withActivity(ctx, "%s", group.summary())
	results, err := doBatch[activities.PassInput, activities.PassResult](ctx, f, sticky, act.Pass, group.chunks)
	switch {
	case err != nil:
		return nil, err
	case f.way.inTurns:
		f.passed++
		f.stickTo(results[0].Worker)
	default:
		f.noteWorker(results[0].Worker)
	}
	return results, nil
}

// passAhead sends a chunk through the steps ahead of its turn, on the process that will do so in its turn.
func (f *flow) passAhead(ctx workflow.Context, group passing) error {
	ahead := group.chunks[0] // where the order counts, each goes alone
	ahead.Mode = activities.PassAhead
	ctx = withActivity(ctx, "%s, ahead of its turn", group.summary())
	_, err := doBatch[activities.PassInput, activities.PassResult](ctx, f, f.state.Sticky, act.Pass, []activities.PassInput{ahead})
	return err
}

// takeTurn waits until all earlier chunks had their turns, all deadlines before it that are recorded were acted on, and
// nobody else has it. It returns the error that ended the run, if one did; then nobody needs the turn any more.
func (f *flow) takeTurn(ctx workflow.Context, turn int64) error {
	mine := func() bool { return f.turns == turn && !f.settling && !f.tickFirst() || f.err != nil }
	if err := workflow.Await(ctx, mine); err != nil {
		return err
	}
	f.settling = true
	return f.err
}

// settle gives the parts of chunks their places, begins to write them, and lets barriers take what the chunks brought,
// one after the other, each followed by what comes out of it. turns is how many turns each chunk has: 1 for those of
// sources, 0 for those of barriers. The caller has the turn.
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
	gathers := f.state.Plan.Split && turns > 0 // parts of barriers' chunks are waited for within the turn
	taken := 0                                 // of the steps: these barriers took them, and what came out is not sent on yet
	for i, chunk := range chunks {
		parts := f.place(chunk, passed[i])
		if len(chunks) > 1 || gathers {
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
	if gathers && len(later) > 0 {
		return append(writes, f.gather(ctx, passed[0].Worker, later, len(chunks))), nil
	}
	return append(writes, f.write(ctx, passed[0].Worker, later)...), nil
}
