package resumepoint

import (
	"fmt"
	"slices"

	"waymark/landscape"
)

// finishedWork is a state under construction: recorded work is counted in the order of turns, up to the first piece
// that is not complete.
type finishedWork struct {
	*done
	State
}

// stand returns where the run stands.
func (d *done) stand(plan Plan) (State, error) {
	w := finishedWork{done: d, State: NewState(plan)}
	if err := w.countTurns(); err != nil {
		return State{}, err
	}
	for i := range w.Sources {
		source := &w.Sources[i]
		source.AtEnd = d.ended[source.Source] && source.Chunk == d.counts[source.Source]
	}
	if !slices.ContainsFunc(w.Sources, func(r Reading) bool { return !r.AtEnd }) && len(w.ticks) == 0 {
		if err := w.countEnds(); err != nil {
			return State{}, err
		}
	}
	w.redo()
	return w.State, nil
}

// countTurns counts the turns of the sources' chunks, and of deadlines between them.
func (w *finishedWork) countTurns() error {
	order, err := w.order()
	if err != nil {
		return err
	}
	for turn := int64(0); ; turn++ {
		for len(w.ticks) > 0 && w.ticks[0].Turns == turn {
			if tick := w.ticks[0]; !w.cameOut(tick.barrier, tick.fold) {
				return nil
			}
			if err := w.countFold(w.ticks[0].barrier, w.ticks[0].fold); err != nil {
				return err
			}
			w.ticks = w.ticks[1:]
		}
		if turn == int64(len(order)) || !w.complete(order[turn]) {
			return nil
		}
		if err := w.countRead(order[turn]); err != nil {
			return err
		}
	}
}

// order returns the sources' chunks on record in the order in which they were read: of the sources that were not at
// their end the one with the fewest chunks was read next, the first of equals.
func (w *finishedWork) order() ([]landscape.ChunkKey, error) {
	var order []landscape.ChunkKey
	read := make([]int64, len(w.Sources))
	var next int
	for {
		next = -1
		for i, source := range w.Sources {
			if ended := w.ended[source.Source] && read[i] == w.counts[source.Source]; !ended && (next < 0 || read[i] < read[next]) {
				next = i
			}
		}
		if next < 0 || read[next] == w.counts[w.Sources[next].Source] {
			break
		}
		order = append(order, landscape.ChunkKey{Source: w.Sources[next].Source, Chunk: read[next]})
		read[next]++
	}
	for i, source := range w.Sources {
		if read[i] != w.counts[source.Source] && !w.readInBatch(i, next, read) {
			return nil, Diverged("%d chunks of %s are recorded, and only %d can have been read before the other sources' next chunks",
				w.counts[source.Source], source.Source, read[i])
		}
	}
	return order, nil
}

// readInBatch reports whether a source can have one chunk more than was read of it in turn: small sources are read in
// one batch, and the process may have died when it had read this one and not yet the one that is next. Such a chunk is
// read again.
func (w *finishedWork) readInBatch(source, next int, read []int64) bool {
	sources := w.Plan.Sources
	return next >= 0 && sources[source].Small && sources[next].Small && read[source] == read[next] && w.counts[w.Sources[source].Source] == read[source]+1
}

// countRead counts a source's chunk.
func (w *finishedWork) countRead(key landscape.ChunkKey) error {
	chunk := w.chunks[key]
	for i := range w.Sources {
		source := &w.Sources[i]
		if source.Source != key.Source {
			continue
		}
		end, err := chunk.End()
		if err != nil {
			return fmt.Errorf("chunk %d of %s: cursor on record: %w", key.Chunk, key.Source, err)
		}
		source.Cursor = end
		source.Chunk++
	}
	w.Read += chunk.Rows
	w.Done += chunk.Rows
	w.Bytes += chunk.Bytes
	return w.countChunk(key)
}

// countChunk counts what became of a chunk: its parts in the sinks, and what barriers made of it.
func (w *finishedWork) countChunk(key landscape.ChunkKey) error {
	chunk := w.chunks[key]
	w.Refused += chunk.refused
	for _, sink := range w.Plan.Sinks {
		for _, effect := range chunk.effects {
			if effect.Sink != sink.Name {
				continue
			}
			if err := w.countPart(effect); err != nil {
				return err
			}
		}
	}
	for _, barrier := range chunk.barriers {
		if err := w.countFold(barrier, w.taken[partKey{key, barrier}]); err != nil {
			return err
		}
	}
	return nil
}

func (w *finishedWork) countPart(effect landscape.Effect) error {
	for i := range w.Plan.Sinks {
		if w.Plan.Sinks[i].Name != effect.Sink {
			continue
		}
		output := &w.Outputs[i]
		if effect.Ordinal == nil || effect.Offset == nil {
			return Diverged("the %s is confirmed on record, and has no place", effect.EffectKey)
		}
		if *effect.Ordinal != output.Ordinal || *effect.Offset != output.Offset {
			return Diverged("the %s is part %d at byte %d on record, and would be part %d at byte %d",
				effect.EffectKey, *effect.Ordinal, *effect.Offset, output.Ordinal, output.Offset)
		}
		output.Ordinal++
		output.Offset += effect.Bytes
		output.Rows += effect.Rows
		return nil
	}
	return Diverged("the %s is recorded, and the plan has no such sink", effect.EffectKey)
}

// countFold counts a fold with all that came out of it.
func (w *finishedWork) countFold(barrier string, fold int64) error {
	if err := w.takeFold(barrier, fold); err != nil {
		return err
	}
	for _, key := range w.out[foldKey{barrier, fold}] {
		w.holding(barrier).Passed++
		if err := w.countChunk(key); err != nil {
			return err
		}
	}
	return nil
}

// takeFold counts a fold without what came out of it.
func (w *finishedWork) takeFold(barrier string, fold int64) error {
	held := w.holding(barrier)
	record := w.folds[barrier][fold]
	if fold != held.Folds {
		return Diverged("fold %d of %s is recorded, and would be fold %d", fold, barrier, held.Folds)
	}
	held.Folds++
	held.Rows += record.Out
	held.Chunks += int64(len(w.out[foldKey{barrier, fold}]))
	held.Deadline = int64(record.Deadline)
	held.Ended = record.Kind == landscape.EndFold
	if record.State != "" {
		held.Saved = SavedFold{Digest: record.State, Folds: held.Folds}
	}
	return nil
}

// countEnds counts how far the barriers were emptied, in the order of the plan.
func (w *finishedWork) countEnds() error {
	for i := range w.Held {
		held := &w.Held[i]
		folds := w.folds[held.Barrier]
		if held.Folds == int64(len(folds)) || folds[held.Folds].Kind != landscape.EndFold {
			return nil
		}
		if err := w.takeFold(held.Barrier, held.Folds); err != nil {
			return err
		}
		for ; held.Passed < held.Chunks; held.Passed++ {
			key := landscape.ChunkKey{Source: held.Barrier, Chunk: held.Passed}
			if !w.complete(key) {
				return nil
			}
			if err := w.countChunk(key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *finishedWork) holding(barrier string) *BarrierState {
	for i := range w.Held {
		if w.Held[i].Barrier == barrier {
			return &w.Held[i]
		}
	}
	panic("no barrier named " + barrier + " in the plan of run " + w.run)
}

// redo says what is recorded beyond the state. Deadlines that were acted on together are acted on together again.
func (w *finishedWork) redo() {
	var counted int64
	for _, source := range w.Sources {
		counted += source.Chunk
	}
	if w.turns <= counted && len(w.ticks) == 0 {
		return
	}
	w.Redo = &Redo{Turns: w.turns}
	for _, tick := range w.ticks {
		if n := len(w.Redo.Ticks); n == 0 || w.Redo.Ticks[n-1] != tick.Tick {
			w.Redo.Ticks = append(w.Redo.Ticks, tick.Tick)
		}
	}
}
