package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/resumepoint"
)

// flow moves the chunks of one run. It reads them in order, sends several through the steps side by side, and gives each its
// turn in the order in which they were read. In its turn a chunk's parts get their places in the sinks, and barriers take
// what it brought. No more than a window of chunks is in flight.
type flow struct {
	id       string
	state    *State
	passed   int64 // chunks of sources and barriers, by PassInTurn or before this execution began
	going    int   // chunks in flight
	turns    int64 // chunks before this one had their turns
	settling bool  // somebody has the turn
	over     bool  // no deadline is waited for any more
	ending   bool  // everything went through the steps: it is too late for orders
	err      error // the first failure; nothing new begins after it

	workers map[string]bool            // processes that were seen at work, by queue
	near    int                        // chunks that the process at home sends through the steps
	written map[string]workflow.Future // the last part of each sink whose parts are written in order
	came    map[string]int64           // rows that came out of each barrier in its last step

	cancelled *Command            // somebody stopped the run
	giveUp    workflow.CancelFunc // ends the activities that are in flight
}

func newFlow(id string, state *State) *flow {
	return &flow{
		id: id, state: state, turns: state.chunks(), passed: state.chunks() + state.derived(),
		workers: map[string]bool{}, written: map[string]workflow.Future{}, came: map[string]int64{},
	}
}

// run continues until the run's rows have all reached sinks, until somebody stops it, or until the history is long enough to be
// continued as new; then no chunk is in flight any more.
func (f *flow) run(ctx workflow.Context) error {
	ctx, f.giveUp = workflow.WithCancel(ctx)
	defer f.giveUp()
	f.watchDeadlines(ctx)
	f.fail(f.unpaused(ctx))
	if f.running() && f.state.Next() != nil && f.state.whole() {
		f.fail(f.passWhole(ctx))
	}
	for f.running() && f.state.Next() != nil && !workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
		if err := f.read(ctx, f.next(ctx)); err != nil {
			f.fail(err)
		}
		free := func() bool { return f.going < f.window() && f.state.Paused == nil || !f.running() }
		if err := workflow.Await(ctx, free); err != nil {
			f.fail(err)
		}
	}
	f.over = true
	f.drain(ctx)
	if f.running() && f.state.Next() == nil {
		f.fail(f.endBarriers(ctx))
	}
	f.fail(f.unpaused(ctx))
	f.ending = f.running() && f.state.done()
	return f.err
}

// running reports whether there is no reason to stop.
func (f *flow) running() bool { return f.err == nil && f.cancelled == nil }

// unpaused waits until the run is not paused, or stops.
func (f *flow) unpaused(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return f.state.Paused == nil || !f.running() })
}

// drain waits until nothing is in flight and all deadlines that are recorded were acted on. After a failure work in
// flight need not be finished; what it has written is recorded.
func (f *flow) drain(ctx workflow.Context) {
	lasting, _ := workflow.NewDisconnectedContext(ctx)
	redone := func() bool { return f.state.Redo.Next() == nil || f.state.Next() != nil }
	if err := workflow.Await(lasting, func() bool { return f.going == 0 && redone() || !f.running() }); err != nil {
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

// read reads the next chunk of a source, or of each of several small ones, and sends what it read through the steps.
func (f *flow) read(ctx workflow.Context, sources []*resumepoint.Reading) error {
	reads, err := f.readAll(ctx, sources)
	if err != nil {
		return err
	}
	turn, group := f.state.chunks(), passing{}
	for i, read := range reads {
		source := sources[i]
		f.at(read.Worker)
		source.Cursor = read.Cursor
		if read.Done {
			source.AtEnd = true
			continue
		}
		group.chunks = append(group.chunks, activities.ProcessInput{Run: f.id, Epoch: f.state.Epoch, Source: source.Source, Chunk: source.Chunk})
		group.rows = append(group.rows, read.Rows)
		source.Chunk++
		f.state.Read += int64(read.Rows)
		f.state.Bytes += read.Bytes
	}
	for _, some := range f.grouped(ctx, group) {
		f.begin(ctx, turn, some)
		turn += int64(len(some.chunks))
	}
	return nil
}

// begin sends chunks that were read through the steps.
func (f *flow) begin(ctx workflow.Context, turn int64, group passing) {
	f.going += len(group.chunks)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if err := f.processSafely(ctx, turn, group); err != nil {
			f.fail(err)
		}
		f.going -= len(group.chunks)
		f.show(ctx)
	})
}

// readAll reads a chunk of each of the sources.
func (f *flow) readAll(ctx workflow.Context, sources []*resumepoint.Reading) ([]activities.ReadResult, error) {
	inputs := make([]activities.ReadInput, len(sources))
	for i, source := range sources {
		inputs[i] = activities.ReadInput{Run: f.id, Epoch: f.state.Epoch, Source: source.Source, Chunk: source.Chunk, Cursor: source.Cursor}
	}
	first := inputs[0]
	if len(inputs) > 1 {
		named := withActivity(ctx, "read %d sources · chunk %d", len(inputs), first.Chunk)
		return performAll[activities.ReadInput, activities.ReadResult](named, f, f.state.Home, act.ReadChunks, inputs)
	}
	var read activities.ReadResult
	named := withActivity(ctx, "read %s · chunk %d", first.Source, first.Chunk)
	err := f.perform(named, f.state.Home, act.ReadChunk, first).Get(ctx, &read)
	return []activities.ReadResult{read}, err
}

// processSafely is process for a coroutine of its own.
func (f *flow) processSafely(ctx workflow.Context, turn int64, group passing) (err error) {
	defer stopped(&err)
	return f.process(ctx, turn, group)
}

// process sends chunks that were read one after the other through the steps and, in their turns, to the sinks and barriers. turn is that
// of the first.
func (f *flow) process(ctx workflow.Context, turn int64, group passing) error {
	if f.state.Plan.Ordered {
		if err := f.passAhead(ctx, group.chunks[0], group.rows[0]); err != nil { // where the order counts, each goes alone
			return err
		}
		if err := f.takeTurn(ctx, turn); err != nil {
			return err
		}
	}
	results, err := f.passAll(ctx, group)
	if err != nil {
		return err
	}
	if !f.state.Plan.Ordered {
		if err := f.takeTurn(ctx, turn); err != nil {
			return err
		}
	}
	writes, err := f.settle(ctx, group.chunks, results, 1)
	if err != nil {
		return err
	}
	f.settling = false
	if err := f.await(ctx, writes); err != nil {
		return err
	}
	for _, result := range results {
		f.state.Done += int64(result.Rows)
		f.state.Refused += int64(result.Refused)
	}
	return nil
}

// pass sends a chunk through the steps.
func (f *flow) pass(ctx workflow.Context, in activities.ProcessInput) (activities.ProcessResult, error) {
	near := f.nearest()
	if near != "" {
		f.near++
		defer func() { f.near-- }()
	}
	if f.state.Plan.Ordered {
		return f.passInTurn(ctx, in)
	}
	var result activities.ProcessResult
	err := f.perform(ctx, near, act.ProcessChunk, in).Get(ctx, &result)
	f.saw(result.Worker)
	return result, err
}

// passAhead sends a chunk through the steps ahead of its turn, on the process that will do so in its turn.
func (f *flow) passAhead(ctx workflow.Context, in activities.ProcessInput, rows int) error {
	var result activities.AheadResult
	ctx = withActivity(ctx, "process %s · chunk %d · %d rows, ahead of its turn", in.Source, in.Chunk, rows)
	return f.perform(ctx, f.state.Home, act.PassAhead, in).Get(ctx, &result)
}

// passInTurn sends a chunk that has its turn through the steps, if nothing did ahead of it, on the process that knows what came in
// earlier turns.
func (f *flow) passInTurn(ctx workflow.Context, in activities.ProcessInput) (activities.ProcessResult, error) {
	in.Before = f.passed
	var result activities.ProcessResult
	if err := f.perform(ctx, f.state.Home, act.PassInTurn, in).Get(ctx, &result); err != nil {
		return result, err
	}
	f.at(result.Worker)
	f.passed++
	return result, nil
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

// part is a part of a sink's output that has its place.
type part struct {
	activities.WriteInput
	rows, bytes int64
	inOrder     bool // it must be written behind the one before it
}

// place gives every part its place behind the parts of earlier chunks.
func (f *flow) place(chunk activities.ProcessInput, passed activities.ProcessResult) []part {
	parts := make([]part, len(passed.Parts))
	for i, size := range passed.Parts {
		sink := f.sink(size.Sink)
		place := f.state.Place(size.Sink, size.Rows, size.Bytes)
		in := activities.WriteInput{
			Run: f.id, Epoch: f.state.Epoch, Source: chunk.Source, Chunk: chunk.Chunk,
			Sink: size.Sink, Ordinal: place.Ordinal, Offset: place.Offset,
		}
		parts[i] = part{WriteInput: in, rows: size.Rows, bytes: size.Bytes, inOrder: f.state.Plan.Sinks[sink].InOrder}
	}
	return parts
}

// writing is the result of a part, or of several, that are being written.
type writing struct {
	workflow.Future
	parts int
}

// write begins to write parts: those that are small together, if there are many. The process that sent the chunk through the steps has
// them in memory.
func (f *flow) write(ctx workflow.Context, near string, parts []part) (writes []writing) {
	var small []part
	for _, p := range parts {
		if p.small() {
			small = append(small, p)
		}
	}
	apart := !together(len(small))
	for _, p := range parts {
		if apart || !p.small() {
			summary := withActivity(ctx, "write %s · chunk %d · %d rows", p.Sink, p.Chunk, p.rows)
			writes = append(writes, writing{f.writeOne(summary, near, p), 1})
		}
	}
	if apart {
		return writes
	}
	for _, share := range shares(small) {
		writes = append(writes, writing{f.writeTogether(ctx, near, share), len(share)})
	}
	return writes
}

// writeOne begins to write a part, if need be behind the one before it.
func (f *flow) writeOne(ctx workflow.Context, near string, p part) workflow.Future {
	if !p.inOrder {
		return f.perform(ctx, near, act.WriteChunk, p.WriteInput)
	}
	before := f.written[p.Sink]
	done, settle := workflow.NewFuture(ctx)
	f.written[p.Sink] = done
	workflow.Go(ctx, func(ctx workflow.Context) {
		if before != nil {
			if err := before.Get(ctx, nil); err != nil {
				settle.SetError(err)
				return
			}
		}
		settle.Chain(f.perform(ctx, near, act.WriteChunk, p.WriteInput))
	})
	return done
}

// await waits until parts are written.
func (f *flow) await(ctx workflow.Context, writes []writing) error {
	for _, write := range writes {
		results := activities.Answers[activities.WriteResult]{Each: make([]activities.WriteResult, 1)}
		var into any = &results.Each[0]
		if write.parts > 1 {
			into = &results
		}
		if err := write.Get(ctx, into); err != nil {
			return err
		}
		for _, result := range results.Each {
			f.state.Refused += result.Refused
		}
	}
	return nil
}

// sink returns the index of a sink in the plan.
func (f *flow) sink(name string) int {
	for i := range f.state.Plan.Sinks {
		if f.state.Plan.Sinks[i].Name == name {
			return i
		}
	}
	panic(&senseless{fmt.Sprintf("the plan has no sink named %.64q", name)})
}
