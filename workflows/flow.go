package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/plugin"
)

// way is how a run is executed.
type way struct {
	small   bool // one activity reads, passes and writes everything, and one finishes: within tasks, if possible
	inTurns bool // chunks are recorded in the order of their turns
}

// choose says how a run is executed. Nothing else decides that. Chunks, parts and folds go in batches: a large one
// alone, small ones together. A run that holds little is done by SmallRun; one that was resumed, with deadlines to be
// repeated, is not.
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

// flow moves the chunks of one run. It reads them in order, sends several through the steps side by side, and gives
// each its turn in the order in which they were read. In its turn a chunk's parts get their places in the sinks, and
// barriers take what it brought. No more than a window of chunks is in flight.
type flow struct {
	id          string
	state       *State
	way         way
	passed      int64 // chunks of sources and barriers, in their turns or before this execution began
	inFlight    int   // chunks
	turns       int64 // chunks before this one had their turns
	turnsAhead  int   // groups of chunks in flight whose turns are to come
	unpassed    int   // groups of chunks in flight that have not gone through the steps
	settling    bool  // a chunk, or a deadline, has the turn
	readingDone bool  // no deadline is waited for any more
	publishing  bool  // everything went through the steps: it is too late for commands
	err         error // the first failure; nothing new begins after it

	workers      map[string]bool            // processes that were seen at work, by queue
	stickyChunks int                        // that the process which read them sends through the steps
	gathered     map[string]*gathering      // parts to be written, by the queue of the process that has them
	written      map[string]workflow.Future // the last part of each sink whose parts are written in order
	lastRows     map[string]int64           // that came out of each barrier in its last step
	seeks        bool                       // the source can be surveyed from where its next chunk begins
	surveyed     bool                       // to the end of the source, which is recorded when all before it is

	cancelled *Command            // a command stopped the run
	giveUp    workflow.CancelFunc // ends the activities that are in flight
}

func newFlow(id string, state *State) *flow {
	return &flow{
		id: id, state: state, way: choose(state), turns: state.chunks(), passed: state.chunks() + state.derived(),
		workers: map[string]bool{}, gathered: map[string]*gathering{}, written: map[string]workflow.Future{}, lastRows: map[string]int64{},
	}
}

// run continues until the run's rows have all reached sinks, until a command stops it, or until the history is long
// enough to be continued as new; then no chunk is in flight any more.
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
	if f.surveyed {
		passed := func() bool { return f.turnsAhead == 0 || !f.running() }
		if err := workflow.Await(ctx, passed); err != nil || !f.running() {
			return err
		}
	}
	at := sources[0].Cursor
	reads, err := f.readBatch(ctx, sources)
	if err != nil {
		return err
	}
	turn, group := f.state.chunks(), passing{}
	for i, read := range reads {
		chunk := activities.PassInput{Mode: f.way.mode(), Source: sources[i].Source, Chunk: sources[i].Chunk}
		f.wasRead(sources[i], read)
		for _, found := range read.Chunks() {
			group.chunks, group.rows = append(group.chunks, chunk), append(group.rows, found.Rows)
			chunk.Chunk++
		}
	}
	if reads[0].Survey {
		return f.beginShares(ctx, turn, at, group, reads[0].Shares)
	}
	for _, some := range f.grouped(group) {
		f.begin(ctx, turn, some)
		turn += int64(len(some.chunks))
	}
	return nil
}

// beginShares begins to send shares of chunks through the steps that were found from a place on: each when it is
// wanted.
func (f *flow) beginShares(
	ctx workflow.Context, turn int64, at plugin.Cursor, found passing, shares []activities.Share,
) error {
	groups, err := found.shared(at, shares)
	for _, some := range groups {
		if err := workflow.Await(ctx, f.sharesWanted); err != nil || !f.running() {
			return err
		}
		f.begin(ctx, turn, some)
		turn += int64(len(some.chunks))
	}
	return err
}

// readBatch reads a chunk of each of the sources.
func (f *flow) readBatch(ctx workflow.Context, sources []*resumepoint.Reading) ([]activities.ReadResult, error) {
	inputs := make([]activities.ReadInput, len(sources))
	for i, source := range sources {
		inputs[i] = activities.ReadInput{Source: source.Source, Chunk: source.Chunk, Cursor: source.Cursor}
	}
	if f.state.Plan.Split && f.alone(sources[0]) {
		if f.seeks && f.state.Plan.Spread() && !f.surveyed {
			inputs[0].Shares = f.sharesAhead()
		} else {
			inputs[0].Most = int(min(sources[0].Chunk+2, readChunks)) // the first are soon there for others
		}
	}
	what := inputs[0].Source
	if len(inputs) > 1 {
		what = fmt.Sprintf("%d sources", len(inputs))
	}
	ctx = withActivity(ctx, "read %s · chunk %d", what, inputs[0].Chunk)
	return doBatch[activities.ReadInput, activities.ReadResult](ctx, f, f.state.Sticky, act.Read, inputs)
}

// alone reports whether all other sources were read to their ends: those that are not take turns, chunk by chunk.
func (f *flow) alone(source *resumepoint.Reading) bool {
	for i := range f.state.Sources {
		if other := &f.state.Sources[i]; other != source && !other.AtEnd {
			return false
		}
	}
	return true
}

// wasRead notes what was read of a source: chunks, or its end.
func (f *flow) wasRead(source *resumepoint.Reading, read activities.ReadResult) {
	f.stickTo(read.Worker)
	chunks := read.Chunks()
	source.Advance(read.Cursor, int64(len(chunks)))
	source.AtEnd = !read.Survey && (source.AtEnd || read.Ended)
	f.seeks, f.surveyed = read.Seeks, read.Survey && read.Ended
	for _, chunk := range chunks {
		f.state.Read += int64(chunk.Rows)
		f.state.Bytes += chunk.Bytes
	}
}
