package landscape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/pipeline"
	"waymark/plugin"
)

// Past is the record of one run as it stood at each moment since the run began. What is recorded in one transaction counts from one moment: the rows of a chunk are read when the
// chunk is, and took their ways when all of it was through the steps. Moments are believed as they stand, but nothing counts before what it follows from: clocks of several
// machines may differ. Of work that was done twice the first time counts. It is safe for concurrent use.
type Past struct {
	of     *Reader
	run    RunHead
	all    []Micros // of which anything is recorded, in order, each once
	read   map[ChunkKey]Micros
	passed map[ChunkKey]Micros // no moment of a chunk that is not through the steps
	folded map[foldKey]Micros
	fired  map[firedKey]Micros
	events map[EffectKey][]EffectEvent // by time
	ended  map[string]Micros           // sources and barriers
}

type foldKey struct {
	node string
	fold int64
}

// Past returns the past of a run. It reads a few values of each chunk, fold, batch and event of an effect, and no rows. The error wraps ErrNotFound if there is no such run.
func (r *Reader) Past(ctx context.Context, run string) (*Past, error) {
	head, err := get[RunHead](ctx, r.from, run)
	if err != nil {
		return nil, err
	}
	p := &Past{
		of: r, run: head, all: []Micros{head.Started}, read: map[ChunkKey]Micros{}, passed: map[ChunkKey]Micros{}, folded: map[foldKey]Micros{}, fired: map[firedKey]Micros{},
		events: map[EffectKey][]EffectEvent{}, ended: map[string]Micros{},
	}
	for _, add := range []func(context.Context) error{p.addChunks, p.addFolds, p.addEffects, p.addEnds} {
		if err := add(ctx); err != nil {
			return nil, err
		}
	}
	p.known(head.Finished)
	slices.Sort(p.all)
	p.all = slices.Compact(p.all)
	return p, nil
}

// Begun is when the run began: nothing was read yet.
func (p *Past) Begun() Micros { return p.run.Started }

// End is the last moment of which anything is recorded: what stood then is what stands.
func (p *Past) End() Micros { return p.all[len(p.all)-1] }

// Before returns the last moment before at of which anything is recorded; Begun if there is none.
func (p *Past) Before(at Micros) Micros {
	i, _ := slices.BinarySearch(p.all, at)
	return p.all[max(i-1, 0)]
}

// After returns the first moment after at of which anything is recorded; End if there is none.
func (p *Past) After(at Micros) Micros {
	i, _ := slices.BinarySearch(p.all, at+1)
	return p.all[min(i, len(p.all)-1)]
}

// known returns the latest of some moments, which is none before the run began, and notes that something is recorded of it.
func (p *Past) known(at ...Micros) Micros {
	last := slices.Max(append(at, p.run.Started))
	p.all = append(p.all, last)
	return last
}

func (p *Past) addChunks(ctx context.Context) error {
	moments, err := p.of.Moments(ctx, p.run.ID)
	for _, m := range moments {
		p.read[m.ChunkKey] = p.known(m.Read)
		if m.Finished > 0 {
			p.passed[m.ChunkKey] = p.known(m.Read, m.Finished)
		}
	}
	return err
}

// addFolds notes when folds and batches were: a fold after the one before, and after its chunk.
func (p *Past) addFolds(ctx context.Context) error {
	err := each(ctx, p.of.from, []any{p.run.ID}, func(f FoldRecord) bool {
		p.folded[foldKey{f.Node, f.Fold}] = p.known(f.At, p.folded[foldKey{f.Node, f.Fold - 1}], p.passed[ChunkKey{f.Source, f.Chunk}])
		return true
	})
	if err != nil {
		return err
	}
	return each(ctx, p.of.from, []any{p.run.ID}, func(b firedIn) bool {
		p.fired[firedKey{b.Node, b.Batch}] = p.folded[foldKey{b.Node, b.Fold}]
		return true
	})
}

// addEffects notes when each thing happened to a write: after its chunk was through the steps.
func (p *Past) addEffects(ctx context.Context) error {
	return each(ctx, p.of.from, []any{p.run.ID}, func(e EffectEvent) bool {
		e.At = p.known(e.At, p.passed[ChunkKey{e.Source, e.Chunk}])
		p.events[e.EffectKey] = append(p.events[e.EffectKey], e)
		return true
	})
}

// addEnds notes when sources were read to their ends, and when outputs were published.
func (p *Past) addEnds(ctx context.Context) error {
	for _, events := range p.events {
		slices.SortStableFunc(events, func(a, b EffectEvent) int { return cmp.Compare(a.At, b.At) })
	}
	err := each(ctx, p.of.from, []any{p.run.ID}, func(e SourceEnd) bool {
		p.ended[e.Source] = p.known(e.Ended)
		return true
	})
	if err != nil {
		return err
	}
	return each(ctx, p.of.from, []any{p.run.ID}, func(a ArtifactRecord) bool {
		p.known(a.Published)
		return true
	})
}

// At returns the record of the run as it stood at a moment: a Log that stores nothing, and whose questions about the run's counts, edges, rows, sinks, folds and outputs are
// answered as they would have been then. What is asked of which the record does not say when it was is refused with an error that wraps errors.ErrUnsupported.
func (p *Past) At(moment Micros) *Log {
	source := &pastSource{Past: p, at: moment}
	return &Log{Reader: newReader(source), driver: source}
}

// pastSource reads what the record had at a moment.
type pastSource struct {
	*Past
	at Micros
}

// Commit refuses: nobody can write the past.
func (*pastSource) Commit(context.Context, Tx) error { return errors.ErrUnsupported }

// Sweep refuses: a run was not complete before its end.
func (*pastSource) Sweep(context.Context, string, bool) ([]Finding, error) {
	return nil, errors.ErrUnsupported
}

// Read yields what was there of what q selects.
func (s *pastSource) Read(ctx context.Context, kind Record, q Query, yield func(Record) bool) error {
	if _, _, known := s.then(kind); !known {
		return fmt.Errorf("%s as of a moment: %w", kind.Table(), errors.ErrUnsupported)
	}
	most, yielded := q.Limit, 0
	q.Limit = 0 // some that are read were not there
	return s.of.from.Read(ctx, kind, q, func(record Record) bool {
		then, there, _ := s.then(record)
		if !there {
			return true
		}
		yielded++
		return yield(then) && yielded != most
	})
}

// then returns a record as it was, and whether it was there. known is false if what is recorded of its kind does not say that.
func (s *pastSource) then(record Record) (was Record, there, known bool) {
	switch r := record.(type) {
	case Node, Edge, Source, Lane, WayRecord, WayStepRecord: // as planned; ways count nothing by themselves
		return r, true, true
	case Chunk, chunkByRow, PassageRecord, MembersRecord, RowErrorKey: // read only of chunks and writes that count
		return r, true, true
	case Run:
		r.RunHead = s.head(r.RunHead)
		return r, true, true
	case RunHead:
		return s.head(r), true, true
	case chunkHead:
		return r, s.was(s.read[ChunkKey{r.Source, r.Chunk}]), true
	case ChunkWayRecord:
		return r, s.was(s.passed[ChunkKey{r.Source, r.Chunk}]), true
	case FoldRecord:
		return r, s.was(s.folded[foldKey{r.Node, r.Fold}]), true
	case batchHead:
		return r, s.was(s.fired[firedKey{r.Node, r.Batch}]), true
	case SourceEnd:
		return r, s.was(s.ended[r.Source]), true
	case ArtifactRecord:
		return r, s.state(PublishKey(r.Run, r.Sink)) == Finalized, true
	}
	return s.thenWritten(record)
}

// thenWritten does what then does with a record of an effect.
func (s *pastSource) thenWritten(record Record) (was Record, there, known bool) {
	switch r := record.(type) {
	case Effect:
		r.State, r.Refused = s.written(r.EffectKey, r.Refused)
		return r, s.planned(r.EffectKey), true
	case SinkPart:
		r.State, r.Refused = s.written(r.EffectKey, r.Refused)
		return r, s.planned(r.EffectKey), true
	case effectHead:
		r.State, r.Refused = s.written(r.EffectKey, r.Refused)
		return r, s.planned(r.EffectKey), true
	}
	return nil, false, false
}

// was reports whether something had happened; at no moment it never did.
func (s *pastSource) was(at Micros) bool { return at > 0 && at <= s.at }

// head is how the run was: as long as it had not ended for the last time it was running.
func (s *pastSource) head(run RunHead) RunHead {
	if run.Finished == 0 || run.Finished > s.at {
		run.Status, run.Finished, run.Reason, run.Final = pipeline.Running, 0, "", false
	}
	return run
}

// planned reports whether the record had an effect: a write is since its chunk was through the steps, a publication from the beginning.
func (s *pastSource) planned(key EffectKey) bool {
	return key == PublishKey(key.Run, key.Sink) || s.was(s.passed[ChunkKey{key.Source, key.Chunk}])
}

// written is how far an effect was, and how many of its rows its target had refused.
func (s *pastSource) written(key EffectKey, refused int64) (EffectState, int64) {
	if state := s.state(key); state != Finalized {
		return state, 0
	}
	return Finalized, refused
}

// state is how far an effect was, as its events say.
func (s *pastSource) state(key EffectKey) EffectState {
	state := Prepared
	if key == PublishKey(key.Run, key.Sink) {
		state = Reserved
	}
	for _, e := range s.events[key] {
		if e.At > s.at {
			break
		}
		state = e.next(state)
	}
	return state
}

// next is how far an effect is after the event.
func (e EffectEvent) next(state EffectState) EffectState {
	switch {
	case state == Finalized: // permanently
	case e.Event == EffectFinalized, e.Event == EffectResolved && e.Detail == resolvedApplied:
		return Finalized
	case e.Event == EffectBegan, e.Event == EffectResolved:
		return InFlight
	case e.Event == EffectReconciled && e.Detail == answers[plugin.Unknown] && state == InFlight:
		return Blocked
	}
	return state
}
