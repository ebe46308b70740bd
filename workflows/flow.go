package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
)

// flow moves the chunks of one run. It reads them in order, sends several through the steps side by side, and gives each its
// turn in the order in which they were read. In its turn a chunk's parts get their places in the sinks, and barriers take
// what it brought. No more than a window of chunks is on its way.
type flow struct {
	id       string
	state    *State
	going    int   // chunks on their way
	turns    int64 // chunks before this one had their turns
	settling bool  // somebody has the turn
	over     bool  // no deadline is waited for any more
	ending   bool  // everything went through the steps: it is too late for orders
	err      error // the first failure; nothing new begins after it

	workers map[string]bool            // processes that were seen at work, by queue
	near    int                        // chunks that the process at home sends through the steps
	written map[string]workflow.Future // the last part of each sink whose parts are written in order

	cancelled *Order              // somebody stopped the run
	giveUp    workflow.CancelFunc // ends the activities that are on their way
}

func newFlow(id string, state *State) *flow {
	return &flow{id: id, state: state, turns: state.chunks(), workers: map[string]bool{}, written: map[string]workflow.Future{}}
}

// run goes on until the run's rows have all reached sinks, until somebody stops it, or until the history is long enough to be
// continued as new; then no chunk is on its way any more.
func (f *flow) run(ctx workflow.Context) error {
	ctx, f.giveUp = workflow.WithCancel(ctx)
	defer f.giveUp()
	f.watchDeadlines(ctx)
	f.fail(f.unpaused(ctx))
	for f.goesOn() && f.state.next() != nil && !workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
		if err := f.read(ctx, f.state.next()); err != nil {
			f.fail(err)
		}
		free := func() bool { return f.going < f.window() && f.state.Paused == nil || !f.goesOn() }
		if err := workflow.Await(ctx, free); err != nil {
			f.fail(err)
		}
	}
	f.over = true
	f.drain(ctx)
	if f.goesOn() && f.state.next() == nil {
		f.fail(f.endBarriers(ctx))
	}
	f.fail(f.unpaused(ctx))
	f.ending = f.goesOn() && f.state.done()
	return f.err
}

// goesOn reports whether there is no reason to stop.
func (f *flow) goesOn() bool { return f.err == nil && f.cancelled == nil }

// unpaused waits until the run is not paused, or stops.
func (f *flow) unpaused(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return f.state.Paused == nil || !f.goesOn() })
}

// drain waits until nothing is on its way and all deadlines that are on record were acted on. After a failure what is on its
// way need not be finished; what it has written is on record.
func (f *flow) drain(ctx workflow.Context) {
	lasting, _ := workflow.NewDisconnectedContext(ctx)
	redone := func() bool { return f.state.Redo.Next() == nil || f.state.next() != nil }
	if err := workflow.Await(lasting, func() bool { return f.going == 0 && redone() || !f.goesOn() }); err != nil {
		f.fail(err)
	}
	if f.err != nil {
		f.giveUp()
	}
	if err := workflow.Await(lasting, func() bool { return f.going == 0 }); err != nil {
		f.fail(err)
	}
}

func (f *flow) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// read reads the next chunk of a source and sends it on its way.
func (f *flow) read(ctx workflow.Context, source *activities.Reading) error {
	var read activities.ReadResult
	in := activities.ReadInput{Run: f.id, Epoch: f.state.Epoch, Source: source.Source, Chunk: source.Chunk, Cursor: source.Cursor}
	named := withActivity(ctx, "read %s · chunk %d", in.Source, in.Chunk)
	if err := f.perform(named, f.state.Home, act.ReadChunk, in).Get(ctx, &read); err != nil {
		return err
	}
	f.at(read.Worker)
	source.Cursor = read.Cursor
	if read.Done {
		source.AtEnd = true
		return nil
	}
	turn := f.state.chunks()
	source.Chunk++
	f.state.Read += int64(read.Rows)
	f.state.Bytes += read.Bytes
	f.going++
	workflow.Go(ctx, func(ctx workflow.Context) {
		if err := f.process(ctx, turn, activities.ProcessInput{Run: f.id, Epoch: f.state.Epoch, Source: in.Source, Chunk: in.Chunk}, read.Rows); err != nil {
			f.fail(err)
		}
		f.going--
		workflow.SetCurrentDetails(ctx, f.details())
	})
	return nil
}

// process sends a chunk through the steps and, in its turn, to the sinks and barriers.
func (f *flow) process(ctx workflow.Context, turn int64, in activities.ProcessInput, rows int) error {
	if f.state.Plan.Ordered {
		if err := f.takeTurn(ctx, turn); err != nil {
			return err
		}
	}
	result, err := f.pass(withActivity(ctx, "process %s · chunk %d · %d rows", in.Source, in.Chunk, rows), in)
	if err != nil {
		return err
	}
	if !f.state.Plan.Ordered {
		if err := f.takeTurn(ctx, turn); err != nil {
			return err
		}
	}
	writes := f.place(ctx, in, result)
	if err := f.settle(ctx, in, result.Barriers); err != nil {
		return err
	}
	f.turns, f.settling = f.turns+1, false
	if err := f.await(ctx, writes); err != nil {
		return err
	}
	f.state.Done += int64(result.Rows)
	f.state.Refused += int64(result.Refused)
	return nil
}

// pass sends a chunk through the steps.
func (f *flow) pass(ctx workflow.Context, in activities.ProcessInput) (activities.ProcessResult, error) {
	near := f.nearest()
	if near != "" {
		f.near++
		defer func() { f.near-- }()
	}
	var result activities.ProcessResult
	err := f.perform(ctx, near, act.ProcessChunk, in).Get(ctx, &result)
	f.saw(result.Worker)
	return result, err
}

// takeTurn waits until all earlier chunks had their turns, all deadlines before it that are on record were acted on, and
// nobody else has it. It returns the error that ended the run, if one did; then nobody needs the turn any more.
func (f *flow) takeTurn(ctx workflow.Context, turn int64) error {
	mine := func() bool { return f.turns == turn && !f.settling && !f.tickFirst() || f.err != nil }
	if err := workflow.Await(ctx, mine); err != nil {
		return err
	}
	f.settling = true
	return f.err
}

// place gives every part its place behind the parts of earlier chunks and begins to write it there.
func (f *flow) place(ctx workflow.Context, chunk activities.ProcessInput, passed activities.ProcessResult) []workflow.Future {
	var writes []workflow.Future
	for _, part := range passed.Parts {
		output := f.output(part.Sink)
		in := activities.WriteInput{
			Run: f.id, Epoch: f.state.Epoch, Source: chunk.Source, Chunk: chunk.Chunk,
			Sink: part.Sink, Ordinal: output.Ordinal, Offset: output.Offset,
		}
		output.Ordinal++
		output.Offset += part.Bytes
		output.Rows += part.Rows
		summary := withActivity(ctx, "write %s · chunk %d · %d rows", part.Sink, chunk.Chunk, part.Rows)
		writes = append(writes, f.write(summary, passed.Worker, in))
	}
	return writes
}

// write begins to write a part, if need be behind the one before it. The process that sent the chunk through the steps has the
// part in memory.
func (f *flow) write(ctx workflow.Context, near string, in activities.WriteInput) workflow.Future {
	if !f.state.Plan.Sinks[f.sink(in.Sink)].InOrder {
		return f.perform(ctx, near, act.WriteChunk, in)
	}
	before := f.written[in.Sink]
	done, settle := workflow.NewFuture(ctx)
	f.written[in.Sink] = done
	workflow.Go(ctx, func(ctx workflow.Context) {
		if before != nil {
			if err := before.Get(ctx, nil); err != nil {
				settle.SetError(err)
				return
			}
		}
		settle.Chain(f.perform(ctx, near, act.WriteChunk, in))
	})
	return done
}

// await waits until parts are written.
func (f *flow) await(ctx workflow.Context, writes []workflow.Future) error {
	for _, write := range writes {
		var result activities.WriteResult
		if err := write.Get(ctx, &result); err != nil {
			return err
		}
		f.state.Refused += result.Refused
	}
	return nil
}

func (f *flow) output(sink string) *activities.Output { return &f.state.Outputs[f.sink(sink)] }

// sink returns the index of a sink in the plan.
func (f *flow) sink(name string) int {
	for i := range f.state.Plan.Sinks {
		if f.state.Plan.Sinks[i].Name == name {
			return i
		}
	}
	panic("no sink named " + name + " in the plan of run " + f.id)
}

// details is the table that Temporal's UI shows for the running workflow.
func (f *flow) details() string {
	table := fmt.Appendf(nil, "**%s** · %d rows read · %d done · %d refused\n\n| sink | rows | parts |\n|---|---|---|\n",
		f.state.Plan.Pipeline, f.state.Read, f.state.Done, f.state.Refused)
	for i, sink := range f.state.Plan.Sinks {
		table = fmt.Appendf(table, "| %s | %d | %d |\n", sink.Name, f.state.Outputs[i].Rows, f.state.Outputs[i].Ordinal)
	}
	return string(table)
}
