package workflows

import (
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/internal/text"
)

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
		in := chunk.Write(size, f.state.Place(size.Sink, size.Rows, size.Bytes))
		parts[i] = part{WriteInput: in, rows: size.Rows, bytes: size.Bytes, inOrder: f.state.Plan.Sinks[sink].InOrder}
	}
	return parts
}

// write begins to write parts: those that are small in batches, and all of a run that is split. The process that sent the
// chunk through the steps, which has the sticky queue, has them in memory.
func (f *flow) write(ctx workflow.Context, sticky string, parts []part) (writes []workflow.Future) {
	var together []part
	for _, p := range parts {
		switch {
		case p.inOrder:
			writes = append(writes, f.writeInOrder(ctx, sticky, p))
		case p.bytes <= smallBytes || f.state.Plan.Split:
			together = append(together, p)
		default:
			writes = append(writes, f.writeBatch(ctx, sticky, []part{p}))
		}
	}
	for share := range slices.Chunk(together, maxBatch) {
		writes = append(writes, f.writeBatch(ctx, sticky, share))
	}
	return writes
}

// gathering is parts of a run that is split, until the process that has them in memory writes them.
type gathering struct {
	parts  []part
	chunks int
	last   bool // the process sends nothing more through the steps
	done   workflow.Future
}

// gather puts off writing parts of chunks: with what the process sends through the steps next, it is one activity.
// They wait for a stretch of chunks, or until no more chunks come, or all that come are with other processes. What
// comes after that waits for the next one.
func (f *flow) gather(ctx workflow.Context, worker string, parts []part, chunks int) workflow.Future {
	g := f.gathered[worker]
	if g == nil || g.chunks >= writeChunks {
		done, settle := workflow.NewFuture(ctx)
		g = &gathering{done: done}
		f.gathered[worker] = g
		workflow.Go(ctx, func(ctx workflow.Context) {
			enough := func() bool { return g.chunks >= writeChunks || g.last || f.turnsAhead == 0 || !f.running() }
			err := workflow.Await(ctx, enough)
			if f.gathered[worker] == g {
				delete(f.gathered, worker)
			}
			var writes []workflow.Future
			for share := range slices.Chunk(g.parts, maxBatch) {
				writes = append(writes, f.writeBatch(ctx, worker, share))
			}
			settle.Set(nil, errors.Join(err, f.await(ctx, writes)))
		})
	}
	g.parts, g.chunks = append(g.parts, parts...), g.chunks+chunks
	g.last = (f.surveyed || f.state.Next() == nil) && f.unpassed < len(f.workers)
	return g.done
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
		what = text.Count(int64(len(sinks)), "sink")
	}
	ctx = withActivity(ctx, "write %s · chunk %d · %s", what, parts[0].Chunk, text.Count(rows, "row"))
	return f.perform(ctx, sticky, act.Write, in)
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
