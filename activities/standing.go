package activities

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"waymark/landscape"
)

// done is what is on record of a run's work.
type done struct {
	run    string
	chunks map[chunkKey]*doneChunk
	counts map[string]int64 // chunks by source or barrier
	ended  map[string]bool  // sources whose end is on record
	folds  map[string][]landscape.FoldRecord
	taken  map[partKey]int64      // chunks by the barrier that took them, to the fold
	out    map[foldKey][]chunkKey // what came out in a fold
	ticks  []tickFold             // folds for deadlines, in their order
	turns  int64                  // turns that folds on record are part of: later deadlines must wait for them
}

// foldKey is a fold of a barrier.
type foldKey struct {
	barrier string
	fold    int64
}

// doneChunk is what is on record of one chunk.
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

// readDone reads what is on record of the run's work, which may go on meanwhile: what presupposes something else is read before that.
func readDone(ctx context.Context, log *landscape.Log, run string, plan OpenResult) (*done, error) {
	d := &done{
		run: run, chunks: map[chunkKey]*doneChunk{}, counts: map[string]int64{}, ended: map[string]bool{},
		folds: map[string][]landscape.FoldRecord{}, taken: map[partKey]int64{}, out: map[foldKey][]chunkKey{},
	}
	ends, err := log.SourceEnds(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, source := range append(append([]string{plan.Source}, plan.MoreSources...), plan.Barriers...) {
		if err := d.readChunks(ctx, log, source); err != nil {
			return nil, err
		}
	}
	for _, end := range ends {
		if end.Chunks != d.counts[end.Source] {
			return nil, diverged("source %s ended after %d chunks on record, and has %d", end.Source, end.Chunks, d.counts[end.Source])
		}
		d.ended[end.Source] = true
	}
	effects, err := log.Effects(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, effect := range effects {
		if chunk := d.chunks[chunkKey{effect.Source, effect.Chunk}]; chunk != nil {
			chunk.effects = append(chunk.effects, effect)
		}
	}
	return d, d.readFolds(ctx, log, plan.Barriers)
}

func (d *done) readChunks(ctx context.Context, log *landscape.Log, source string) error {
	marks, err := log.PassageMarks(ctx, d.run, source)
	if err != nil {
		return err
	}
	var row int64 // the last of the chunks before
	for chunk, err := range log.Chunks(ctx, d.run, source) {
		if err != nil {
			return err
		}
		if chunk.Chunk != d.counts[source] {
			return diverged("chunk %d of %s is not on record, and chunk %d is", d.counts[source], source, chunk.Chunk)
		}
		key := chunkKey{source, chunk.Chunk}
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
		chunk := d.chunks[chunkKey{source, mark.Chunk}]
		if chunk == nil {
			return diverged("chunk %d of %s went through the steps, and is not on record itself", mark.Chunk, source)
		}
		chunk.passed, chunk.refused, chunk.barriers = true, mark.Refused, mark.Barriers
	}
	return nil
}

// follows requires that a source's chunk begins behind the row and ends where its cursor says, and returns its last row.
func follows(chunk landscape.Chunk, row int64) (int64, error) {
	end, err := chunk.End()
	if err != nil {
		return 0, diverged("chunk %d of %s: the cursor on record: %v", chunk.Chunk, chunk.Source, err)
	}
	last := row + chunk.Rows
	if chunk.FirstRow != row+1 || end.Row != last {
		return 0, diverged("chunk %d of %s has %d rows from row %d on record, is read on behind row %d, and the chunks before end with row %d",
			chunk.Chunk, chunk.Source, chunk.Rows, chunk.FirstRow, end.Row, row)
	}
	return last, nil
}

// readFolds reads the folds of all barriers and brings those for deadlines into their order.
func (d *done) readFolds(ctx context.Context, log *landscape.Log, barriers []string) error {
	for _, barrier := range barriers {
		folds, err := log.Folds(ctx, d.run, barrier)
		if err != nil {
			return err
		}
		d.folds[barrier] = folds
		for i, fold := range folds {
			if err := d.addFold(barrier, fold, folds[:i]); err != nil {
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
		return diverged("fold %d of %s is not on record, and fold %d is", len(before), barrier, fold.Fold)
	}
	if fold.Turn == nil {
		return final{TypeNotResumable, fmt.Errorf("run %s was begun by an older version of the program, which did not record in which order %s took its steps; begin anew with --fork", d.run, barrier)}
	}
	switch fold.Kind {
	case landscape.EndFold:
		d.turns = math.MaxInt64
	case landscape.TickFold:
		tick := tickFold{barrier: barrier, fold: fold.Fold, Tick: Tick{Turns: *fold.Turn}}
		if len(before) > 0 {
			tick.Deadline = int64(before[len(before)-1].Deadline)
		}
		d.ticks = append(d.ticks, tick)
		d.turns = max(d.turns, tick.Turns)
	default:
		key := chunkKey{fold.Source, fold.Chunk}
		d.taken[partKey{key, barrier}] = fold.Fold
		if chunk := d.chunks[key]; chunk != nil && chunk.Fold == nil {
			d.turns = max(d.turns, *fold.Turn+1)
		}
	}
	return nil
}

// complete reports whether the chunk, and all that came of it in barriers, went through the steps, is confirmed by the sinks,
// and is in the barriers.
func (d *done) complete(key chunkKey) bool {
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

// standing is a state in the making: the work on record is counted in the order of turns, up to the first piece that is not
// complete.
type standing struct {
	*done
	State
}

// stand returns where the run stands.
func (d *done) stand(plan OpenResult) (State, error) {
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
			return nil, diverged("%d chunks of %s are on record, and only %d can have been read before the other sources' next chunks",
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
			return diverged("the %s is confirmed on record, and has no place", effect.EffectKey)
		}
		if *effect.Ordinal != output.Ordinal || *effect.Offset != output.Offset {
			return diverged("the %s is part %d at byte %d on record, and would be part %d at byte %d",
				effect.EffectKey, *effect.Ordinal, *effect.Offset, output.Ordinal, output.Offset)
		}
		output.Ordinal++
		output.Offset += effect.Bytes
		output.Rows += effect.Rows
		return nil
	}
	return diverged("the %s is on record, and the plan has no such sink", effect.EffectKey)
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
		return diverged("fold %d of %s is on record, and would be fold %d", fold, barrier, held.Folds)
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

// redo says what is on record beyond the state. Deadlines that were acted on together are acted on together again.
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

// passedInTurn returns the chunks that went through the steps, in the order of their turns: that of the sources, each followed by
// what came out of the barriers that it fed, between them what came out for deadlines, and what came out at the end.
func (d *done) passedInTurn(plan OpenResult) ([]landscape.Chunk, error) {
	s := standing{done: d, State: NewState(plan)}
	order, err := s.order()
	if err != nil {
		return nil, err
	}
	var passed []landscape.Chunk
	ticks := d.ticks
	for turn := 0; turn <= len(order); turn++ {
		for ; len(ticks) > 0 && ticks[0].Turns == int64(turn); ticks = ticks[1:] {
			passed = d.appendOut(passed, ticks[0].barrier, ticks[0].fold)
		}
		if turn < len(order) {
			passed = d.appendPassed(passed, order[turn])
		}
	}
	for _, barrier := range plan.Barriers {
		folds := d.folds[barrier]
		if last := len(folds) - 1; last >= 0 && folds[last].Kind == landscape.EndFold {
			passed = d.appendOut(passed, barrier, folds[last].Fold)
		}
	}
	return passed, nil
}

// appendPassed appends a chunk, if it went through the steps, and what came of it.
func (d *done) appendPassed(passed []landscape.Chunk, key chunkKey) []landscape.Chunk {
	chunk := d.chunks[key]
	if !chunk.passed {
		return passed
	}
	passed = append(passed, chunk.Chunk)
	for _, barrier := range chunk.barriers {
		if fold, taken := d.taken[partKey{key, barrier}]; taken {
			passed = d.appendOut(passed, barrier, fold)
		}
	}
	return passed
}

// appendOut appends what came out in a fold, and what came of that.
func (d *done) appendOut(passed []landscape.Chunk, barrier string, fold int64) []landscape.Chunk {
	for _, key := range d.out[foldKey{barrier, fold}] {
		passed = d.appendPassed(passed, key)
	}
	return passed
}
