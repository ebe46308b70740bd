package resumepoint

import (
	"cmp"
	"context"
	"math"
	"slices"

	"waymark/landscape"
)

// done is what is recorded of a run's work.
type done struct {
	run    string
	chunks map[landscape.ChunkKey]*doneChunk
	counts map[string]int64 // chunks by source or barrier
	ended  map[string]bool  // sources whose end is recorded
	folds  map[string][]landscape.FoldRecord
	taken  map[partKey]int64                // chunks by the barrier that took them, to the fold
	out    map[foldKey][]landscape.ChunkKey // what came out in a fold
	ticks  []tickFold                       // folds for deadlines, in their order
	turns  int64                            // turns that folds on record are part of: later deadlines must wait for them
}

// partKey is what a chunk brought to a barrier.
type partKey struct {
	landscape.ChunkKey
	to string
}

// foldKey is a fold of a barrier.
type foldKey struct {
	barrier string
	fold    int64
}

// doneChunk is what is recorded of one chunk.
type doneChunk struct {
	landscape.Chunk
	passed   bool // it went through the steps
	refused  int64
	barriers []string // to which something came, in node order
	effects  []landscape.Effect
}

// tickFold is a fold for a deadline.
type tickFold struct {
	barrier string
	fold    int64
	Tick
}

// read reads what is recorded of the run's work, which may go on meanwhile: what presupposes something else is read
// before that.
func read(ctx context.Context, log *landscape.Reader, run string, plan Plan) (*done, error) {
	d := &done{
		run: run, chunks: map[landscape.ChunkKey]*doneChunk{}, counts: map[string]int64{}, ended: map[string]bool{},
		folds: map[string][]landscape.FoldRecord{}, taken: map[partKey]int64{}, out: map[foldKey][]landscape.ChunkKey{},
	}
	ends, err := log.SourceEnds(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, source := range plan.Sources {
		if err := d.readChunks(ctx, log, source.Name, plan.Spread()); err != nil {
			return nil, err
		}
	}
	for _, barrier := range plan.Barriers {
		if err := d.readChunks(ctx, log, barrier.Name, false); err != nil {
			return nil, err
		}
	}
	for _, end := range ends {
		if end.Chunks != d.counts[end.Source] {
			return nil, Diverged("source %s ended after %d chunks on record, and has %d", end.Source, end.Chunks, d.counts[end.Source])
		}
		d.ended[end.Source] = true
	}
	effects, err := log.Effects(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, effect := range effects {
		if chunk := d.chunks[landscape.ChunkKey{Source: effect.Source, Chunk: effect.Chunk}]; chunk != nil {
			chunk.effects = append(chunk.effects, effect)
		}
	}
	return d, d.readFolds(ctx, log, plan.Barriers)
}

// readChunks reads the chunks of a source or barrier. If shares of them may have been read side by side, it stops at the
// first gap: the run continues there, and finds the recorded chunks after it when it reaches them. The record does not
// say whether that was so: another process may have split the run than the one that resumes it.
func (d *done) readChunks(ctx context.Context, log *landscape.Reader, source string, shared bool) error {
	marks, err := log.PassageMarks(ctx, d.run, source)
	if err != nil {
		return err
	}
	var row int64 // the last of the chunks before
	for chunk, err := range log.Chunks(ctx, d.run, source) {
		if err != nil {
			return err
		}
		if chunk.Chunk > d.counts[source] && shared {
			break // a later share was read first
		}
		if chunk.Chunk != d.counts[source] {
			return Diverged("chunk %d of %s is not recorded, and chunk %d is", d.counts[source], source, chunk.Chunk)
		}
		key := landscape.ChunkKey{Source: source, Chunk: chunk.Chunk}
		d.chunks[key] = &doneChunk{Chunk: chunk}
		if chunk.Fold == nil {
			if row, err = follows(chunk, row); err != nil {
				return err
			}
		}
		if chunk.Fold != nil {
			of := foldKey{source, *chunk.Fold}
			d.out[of] = append(d.out[of], key)
		}
		d.counts[source]++
	}
	for _, mark := range marks {
		chunk := d.chunks[landscape.ChunkKey{Source: source, Chunk: mark.Chunk}]
		if chunk == nil && shared && mark.Chunk > d.counts[source] {
			continue
		}
		if chunk == nil {
			return Diverged("chunk %d of %s went through the steps, and is not recorded itself", mark.Chunk, source)
		}
		chunk.passed, chunk.refused, chunk.barriers = true, mark.Refused, mark.Barriers
	}
	return nil
}

// follows requires that a source's chunk begins after the row and ends where its cursor says, and returns its last row.
func follows(chunk landscape.Chunk, row int64) (int64, error) {
	end, err := chunk.End()
	if err != nil {
		return 0, Diverged("chunk %d of %s: the recorded cursor: %v", chunk.Chunk, chunk.Source, err)
	}
	last := row + chunk.Rows
	if chunk.FirstRow != row+1 || end.Row != last {
		return 0, Diverged("chunk %d of %s: recorded as %d rows from row %d, but its cursor ends at row %d and the previous chunk at row %d",
			chunk.Chunk, chunk.Source, chunk.Rows, chunk.FirstRow, end.Row, row)
	}
	return last, nil
}

// readFolds reads the folds of all barriers and brings those for deadlines into their order.
func (d *done) readFolds(ctx context.Context, log *landscape.Reader, barriers []Barrier) error {
	for _, barrier := range barriers {
		folds, err := log.Folds(ctx, d.run, barrier.Name)
		if err != nil {
			return err
		}
		d.folds[barrier.Name] = folds
		for i, fold := range folds {
			if err := d.addFold(barrier.Name, fold, folds[:i]); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(d.ticks, func(a, b tickFold) int {
		return cmp.Or(cmp.Compare(a.Turns, b.Turns), cmp.Compare(a.Deadline, b.Deadline))
	})
	return nil
}

func (d *done) addFold(barrier string, fold landscape.FoldRecord, before []landscape.FoldRecord) error {
	if fold.Fold != int64(len(before)) {
		return Diverged("fold %d of %s is not recorded, and fold %d is", len(before), barrier, fold.Fold)
	}
	switch fold.Kind {
	case landscape.EndFold:
		d.turns = math.MaxInt64
	case landscape.TickFold:
		tick := tickFold{barrier: barrier, fold: fold.Fold, Tick: Tick{Turns: fold.Turn}}
		if len(before) > 0 {
			tick.Deadline = int64(before[len(before)-1].Deadline)
		}
		d.ticks = append(d.ticks, tick)
		d.turns = max(d.turns, tick.Turns)
	default:
		key := landscape.ChunkKey{Source: fold.Source, Chunk: fold.Chunk}
		d.taken[partKey{key, barrier}] = fold.Fold
		if chunk := d.chunks[key]; chunk != nil && chunk.Fold == nil {
			d.turns = max(d.turns, fold.Turn+1)
		}
	}
	return nil
}

// complete reports whether the chunk, and all that came of it in barriers, went through the steps, is confirmed by the
// sinks, and is in the barriers.
func (d *done) complete(key landscape.ChunkKey) bool {
	chunk := d.chunks[key]
	if !chunk.passed {
		return false
	}
	for _, effect := range chunk.effects {
		if effect.State != landscape.Finalized {
			return false
		}
	}
	for _, barrier := range chunk.barriers {
		if fold, taken := d.taken[partKey{key, barrier}]; !taken || !d.cameOut(barrier, fold) {
			return false
		}
	}
	return true
}

// cameOut reports whether all that came out in a fold is complete.
func (d *done) cameOut(barrier string, fold int64) bool {
	for _, key := range d.out[foldKey{barrier, fold}] {
		if !d.complete(key) {
			return false
		}
	}
	return true
}
