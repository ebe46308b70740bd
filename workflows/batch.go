package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/internal/text"
	"waymark/plugin"
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

// passing is chunks in flight, in the order of their turns.
type passing struct {
	chunks []activities.PassInput
	rows   []int // of each; nil for those of barriers
}

// grouped divides chunks that were read into those that go on together: all, or shares of a run that is split. Where
// chunks must go through the steps one after the other, or deadlines on record come between their turns, each goes alone.
func (f *flow) grouped(group passing) (groups []passing) {
	size := len(group.chunks)
	switch {
	case f.way.inTurns || f.state.Redo.Next() != nil:
		size = 1
	case f.state.Plan.Split:
		shares := f.shares(size)
		size = (size + shares - 1) / shares
	}
	for from := 0; from < len(group.chunks); from += size {
		to := min(from+size, len(group.chunks))
		groups = append(groups, passing{group.chunks[from:to:to], group.rows[from:to:to]})
	}
	return groups
}

// shared divides chunks that were found, and that nobody has read, into the shares in which they are.
func (g passing) shared(at plugin.Cursor, shares []activities.Share) (groups []passing, err error) {
	from := 0
	for _, share := range shares {
		to := from + share.Chunks
		if share.Chunks < 1 || to > len(g.chunks) {
			return nil, nonsense("shares of more than the %d chunks that were found", len(g.chunks))
		}
		some := passing{g.chunks[from:to:to], g.rows[from:to:to]}
		some.chunks[0].Unread = &activities.Unread{At: at, End: share.End}
		groups, from, at = append(groups, some), to, share.End
	}
	if from != len(g.chunks) {
		return nil, nonsense("shares of %d of %d chunks that were found", from, len(g.chunks))
	}
	return groups, nil
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
	return what + " · " + text.Count(int64(rows), "row")
}
