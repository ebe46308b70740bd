package resumepoint

import (
	"fmt"
	"slices"

	"waymark/landscape"
)

// standing is a state under construction: recorded work is counted in the order of turns, up to the first piece that is not complete.
type standing struct {
	*done
	State
}

// stand returns where the run stands.
func (d *done) stand(plan Plan) (State, error) {
	s := standing{done: d, State: NewState(plan)}
	if err := s.countTurns(); err != nil {
		return State{}, err
	}
	for i := range s.Sources {
		source := &s.Sources[i]
		source.AtEnd = d.ended[source.Source] && source.Chunk == d.counts[source.Source]
	}
	if !slices.ContainsFunc(s.Sources, func(r Reading) bool { return !r.AtEnd }) && len(s.ticks) == 0 {
		if err := s.countEnds(); err != nil {
			return State{}, err
		}
	}
	s.redo()
	return s.State, nil
}

// countTurns counts the turns of the sources' chunks, and of deadlines between them.
func (s *standing) countTurns() error {
	order, err := s.order()
	if err != nil {
		return err
	}
	for turn := int64(0); ; turn++ {
		for len(s.ticks) > 0 && s.ticks[0].Turns == turn {
			if tick := s.ticks[0]; !s.cameOut(tick.barrier, tick.fold) {
				return nil
			}
			if err := s.countFold(s.ticks[0].barrier, s.ticks[0].fold); err != nil {
				return err
			}
			s.ticks = s.ticks[1:]
		}
		if turn == int64(len(order)) || !s.complete(order[turn]) {
			return nil
		}
		if err := s.countRead(order[turn]); err != nil {
			return err
		}
	}
}

// order returns the sources' chunks on record in the order in which they were read: of the sources that were not at their end
// the one with the fewest chunks was read next, the first of equals.
func (s *standing) order() ([]chunkKey, error) {
	var order []chunkKey
	read := make([]int64, len(s.Sources))
	var next int
	for {
		next = -1
		for i, source := range s.Sources {
			if ended := s.ended[source.Source] && read[i] == s.counts[source.Source]; !ended && (next < 0 || read[i] < read[next]) {
				next = i
			}
		}
		if next < 0 || read[next] == s.counts[s.Sources[next].Source] {
			break
		}
		order = append(order, chunkKey{s.Sources[next].Source, read[next]})
		read[next]++
	}
	for i, source := range s.Sources {
		if read[i] != s.counts[source.Source] && !s.readTogether(i, next, read) {
			return nil, Diverged("%d chunks of %s are recorded, and only %d can have been read before the other sources' next chunks",
				s.counts[source.Source], source.Source, read[i])
		}
	}
	return order, nil
}

// readTogether reports whether a source can have one chunk more than was read of it in turn: small sources are read together, and the
// process may have died when it had read this one and not yet the one that is next. Such a chunk is read again.
func (s *standing) readTogether(source, next int, read []int64) bool {
	small := s.Plan.Small
	return small != nil && next >= 0 && small[source] && small[next] && read[source] == read[next] && s.counts[s.Sources[source].Source] == read[source]+1
}

// countRead counts a source's chunk.
func (s *standing) countRead(key chunkKey) error {
	chunk := s.chunks[key]
	for i := range s.Sources {
		source := &s.Sources[i]
		if source.Source != key.source {
			continue
		}
		end, err := chunk.End()
		if err != nil {
			return fmt.Errorf("chunk %d of %s: cursor on record: %w", key.chunk, key.source, err)
		}
		source.Cursor = end
		source.Chunk++
	}
	s.Read += chunk.Rows
	s.Done += chunk.Rows
	s.Bytes += chunk.Bytes
	return s.countChunk(key)
}

// countChunk counts what became of a chunk: its parts in the sinks, and what barriers made of it.
func (s *standing) countChunk(key chunkKey) error {
	chunk := s.chunks[key]
	s.Refused += chunk.refused
	for _, sink := range s.Plan.Sinks {
		for _, effect := range chunk.effects {
			if effect.Sink != sink.Name {
				continue
			}
			if err := s.countPart(effect); err != nil {
				return err
			}
		}
	}
	for _, barrier := range chunk.barriers {
		if err := s.countFold(barrier, s.taken[partKey{key, barrier}]); err != nil {
			return err
		}
	}
	return nil
}

func (s *standing) countPart(effect landscape.Effect) error {
	for i := range s.Plan.Sinks {
		if s.Plan.Sinks[i].Name != effect.Sink {
			continue
		}
		output := &s.Outputs[i]
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
func (s *standing) countFold(barrier string, fold int64) error {
	if err := s.takeFold(barrier, fold); err != nil {
		return err
	}
	for _, key := range s.out[foldKey{barrier, fold}] {
		s.holding(barrier).Passed++
		if err := s.countChunk(key); err != nil {
			return err
		}
	}
	return nil
}

// takeFold counts a fold without what came out of it.
func (s *standing) takeFold(barrier string, fold int64) error {
	held := s.holding(barrier)
	record := s.folds[barrier][fold]
	if fold != held.Folds {
		return Diverged("fold %d of %s is recorded, and would be fold %d", fold, barrier, held.Folds)
	}
	held.Folds++
	held.Rows += record.Out
	held.Chunks += int64(len(s.out[foldKey{barrier, fold}]))
	held.Deadline = int64(record.Deadline)
	held.Ended = record.Kind == landscape.EndFold
	if record.State != "" {
		held.Saved = SavedFold{Digest: record.State, Folds: held.Folds}
	}
	return nil
}

// countEnds counts how far the barriers were emptied, in the order of the plan.
func (s *standing) countEnds() error {
	for i := range s.Held {
		held := &s.Held[i]
		folds := s.folds[held.Barrier]
		if held.Folds == int64(len(folds)) || folds[held.Folds].Kind != landscape.EndFold {
			return nil
		}
		if err := s.takeFold(held.Barrier, held.Folds); err != nil {
			return err
		}
		for ; held.Passed < held.Chunks; held.Passed++ {
			key := chunkKey{held.Barrier, held.Passed}
			if !s.complete(key) {
				return nil
			}
			if err := s.countChunk(key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *standing) holding(barrier string) *Holding {
	for i := range s.Held {
		if s.Held[i].Barrier == barrier {
			return &s.Held[i]
		}
	}
	panic("no barrier named " + barrier + " in the plan of run " + s.run)
}

// redo says what is recorded beyond the state. Deadlines that were acted on together are acted on together again.
func (s *standing) redo() {
	var counted int64
	for _, source := range s.Sources {
		counted += source.Chunk
	}
	if s.turns <= counted && len(s.ticks) == 0 {
		return
	}
	s.Redo = &Redo{Turns: s.turns}
	for _, tick := range s.ticks {
		if n := len(s.Redo.Ticks); n == 0 || s.Redo.Ticks[n-1] != tick.Tick {
			s.Redo.Ticks = append(s.Redo.Ticks, tick.Tick)
		}
	}
}
