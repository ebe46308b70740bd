package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/resumepoint"
)

// way is how a run is executed.
type way struct {
	small   bool // one activity reads, passes and writes everything, and one finishes: within tasks, if possible
	inTurns bool // chunks are recorded in the order of their turns
}

// choose says how a run is executed. Nothing else decides that. Chunks, parts and folds go in batches: a large one alone,
// small ones together. A run that holds little is done by SmallRun; one that was resumed, with deadlines to be repeated,
// is not.
func choose(state *State) way {
	return way{small: state.Plan.Small && state.Redo == nil, inTurns: state.Plan.Ordered}
}

// mode is that in which chunks are recorded.
func (w way) mode() string {
	if w.inTurns {
		return activities.PassTurn
	}
	return activities.PassNow
}

// flow moves the chunks of one run. It reads them in order, sends several through the steps side by side, and gives each its
// turn in the order in which they were read. In its turn a chunk's parts get their places in the sinks, and barriers take
// what it brought. No more than a window of chunks is in flight.
type flow struct {
	id          string
	state       *State
	way         way
	passed      int64 // chunks of sources and barriers, in their turns or before this execution began
	inFlight    int   // chunks
	turns       int64 // chunks before this one had their turns
	settling    bool  // a chunk, or a deadline, has the turn
	readingDone bool  // no deadline is waited for any more
	publishing  bool  // everything went through the steps: it is too late for commands
	err         error // the first failure; nothing new begins after it

	workers      map[string]bool            // processes that were seen at work, by queue
	stickyChunks int                        // that the process which read them sends through the steps
	written      map[string]workflow.Future // the last part of each sink whose parts are written in order
	lastRows     map[string]int64           // that came out of each barrier in its last step

	cancelled *Command            // a command stopped the run
	giveUp    workflow.CancelFunc // ends the activities that are in flight
}

func newFlow(id string, state *State) *flow {
	return &flow{
		id: id, state: state, way: choose(state), turns: state.chunks(), passed: state.chunks() + state.derived(),
		workers: map[string]bool{}, written: map[string]workflow.Future{}, lastRows: map[string]int64{},
	}
}

// run continues until the run's rows have all reached sinks, until a command stops it, or until the history is long enough
// to be continued as new; then no chunk is in flight any more.
func (f *flow) run(ctx workflow.Context) error {
	ctx, f.giveUp = workflow.WithCancel(ctx)
	defer f.giveUp()
	f.watchDeadlines(ctx)
	f.fail(f.unpaused(ctx))
	if f.running() && f.state.Next() != nil && f.way.small {
		f.fail(f.passSmall(ctx))
	}
	for f.running() && f.state.Next() != nil && !workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
		if err := f.read(ctx, f.next()); err != nil {
			f.fail(err)
		}
		free := func() bool { return f.inFlight < f.window() && f.state.Paused == nil || !f.running() }
		if err := workflow.Await(ctx, free); err != nil {
			f.fail(err)
		}
	}
	f.readingDone = true
	f.drain(ctx)
	if f.running() && f.state.Next() == nil {
		f.fail(f.endBarriers(ctx))
	}
	f.fail(f.unpaused(ctx))
	f.publishing = f.running() && f.state.done()
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
	if err := workflow.Await(lasting, func() bool { return f.inFlight == 0 && redone() || !f.running() }); err != nil {
		f.fail(err)
	}
	if f.err != nil {
		f.giveUp()
	}
	if err := workflow.Await(lasting, func() bool { return f.inFlight == 0 }); err != nil {
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
	reads, err := f.readBatch(ctx, sources)
	if err != nil {
		return err
	}
	turn, group := f.state.chunks(), passing{}
	for i, read := range reads {
		chunk := activities.PassInput{Mode: f.way.mode(), Source: sources[i].Source, Chunk: sources[i].Chunk}
		if f.wasRead(sources[i], read) {
			group.chunks, group.rows = append(group.chunks, chunk), append(group.rows, read.Rows)
		}
	}
	for _, some := range f.grouped(group) {
		f.begin(ctx, turn, some)
		turn += int64(len(some.chunks))
	}
	return nil
}

// readBatch reads a chunk of each of the sources.
func (f *flow) readBatch(ctx workflow.Context, sources []*resumepoint.Reading) ([]activities.ReadResult, error) {
	inputs := make([]activities.ReadInput, len(sources))
	for i, source := range sources {
		inputs[i] = activities.ReadInput{Source: source.Source, Chunk: source.Chunk, Cursor: source.Cursor}
	}
	what := inputs[0].Source
	if len(inputs) > 1 {
		what = fmt.Sprintf("%d sources", len(inputs))
	}
	ctx = withActivity(ctx, "read %s · chunk %d", what, inputs[0].Chunk)
	return doBatch[activities.ReadInput, activities.ReadResult](ctx, f, f.state.Sticky, act.Read, inputs)
}

// wasRead notes what was read of a source, and reports whether that is a chunk, and not the end.
func (f *flow) wasRead(source *resumepoint.Reading, read activities.ReadResult) bool {
	f.stickTo(read.Worker)
	source.Cursor, source.AtEnd = read.Cursor, read.Done
	if read.Done {
		return false
	}
	source.Chunk++
	f.state.Read += int64(read.Rows)
	f.state.Bytes += read.Bytes
	return true
}

// begin sends chunks that were read through the steps.
func (f *flow) begin(ctx workflow.Context, turn int64, group passing) {
	f.inFlight += len(group.chunks)
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

// process sends chunks that were read one after the other through the steps and, in their turns, to the sinks and barriers. turn is that
// of the first.
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
	sticky := f.stickyQueue()
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

// part is a part of a sink's output that has its place.
type part struct {
	activities.WriteInput
	rows, bytes int64
	inOrder     bool // it must be written behind the one before it
}

// place gives every part its place behind the parts of earlier chunks.
func (f *flow) place(chunk activities.PassInput, passed activities.PassResult) []part {
	parts := make([]part, len(passed.Parts))
	for i, size := range passed.Parts {
		sink := f.sink(size.Sink)
		place := f.state.Place(size.Sink, size.Rows, size.Bytes)
		in := activities.WriteInput{
			Source: chunk.Source, Chunk: chunk.Chunk, Sink: size.Sink, Ordinal: place.Ordinal, Offset: place.Offset,
		}
		parts[i] = part{WriteInput: in, rows: size.Rows, bytes: size.Bytes, inOrder: f.state.Plan.Sinks[sink].InOrder}
	}
	return parts
}

// write begins to write parts: those that are small in batches. The process that sent the chunk through the steps, which
// has the sticky queue, has them in memory.
func (f *flow) write(ctx workflow.Context, sticky string, parts []part) (writes []workflow.Future) {
	var small []part
	for _, p := range parts {
		switch {
		case p.inOrder:
			writes = append(writes, f.writeInOrder(ctx, sticky, p))
		case p.bytes <= smallBytes:
			small = append(small, p)
		default:
			writes = append(writes, f.writeBatch(ctx, sticky, []part{p}))
		}
	}
	for share := range slices.Chunk(small, maxBatch) {
		writes = append(writes, f.writeBatch(ctx, sticky, share))
	}
	return writes
}

// writeBatch begins to write parts in one activity.
func (f *flow) writeBatch(ctx workflow.Context, sticky string, parts []part) workflow.Future {
	in := activities.Batch[activities.WriteInput]{Run: f.id, Epoch: f.state.Epoch}
	sinks, rows := map[string]bool{}, int64(0)
	for _, p := range parts {
		in.Each = append(in.Each, p.WriteInput)
		sinks[p.Sink], rows = true, rows+p.rows
	}
	what := parts[0].Sink
	if len(parts) > 1 {
		what = fmt.Sprintf("%d sinks", len(sinks))
	}
	return f.perform(withActivity(ctx, "write %s · chunk %d · %d rows", what, parts[0].Chunk, rows), sticky, act.Write, in)
}

// writeInOrder begins to write a part when the one before it is written.
func (f *flow) writeInOrder(ctx workflow.Context, sticky string, p part) workflow.Future {
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
		settle.Chain(f.writeBatch(ctx, sticky, []part{p}))
	})
	return done
}

// await waits until parts are written.
func (f *flow) await(ctx workflow.Context, writes []workflow.Future) error {
	for _, write := range writes {
		var results activities.Results[activities.WriteResult]
		if err := write.Get(ctx, &results); err != nil {
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
