package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Fold adds events up, in their order. The error names an event whose data is not what its type says.
func Fold(events []Event) (*Snapshot, error) {
	f := folding{sources: tally[Source]{}, refused: tally[Refusal]{}, barriers: tally[Barrier]{}, sinks: tally[Sink]{}, outputs: tally[Output]{}, effects: tally[effect]{}}
	for _, e := range events {
		if err := f.fold(e); err != nil {
			return nil, fmt.Errorf("event %d, %s: %w", e.Seq, e.Type, err)
		}
	}
	f.addEffects()
	head, err := Head(events)
	return &Snapshot{f.run, f.sources.sorted(), f.refused.sorted(), f.barriers.sorted(), f.sinks.sorted(), f.outputs.sorted(), int64(len(events)), head}, err
}

// tally has something of each name.
type tally[T any] map[string]*T

// of returns what there is of a name, and zero at first.
func (t tally[T]) of(name ...string) *T {
	key := strings.Join(name, "\x00")
	if t[key] == nil {
		t[key] = new(T)
	}
	return t[key]
}

// sorted returns what there is, by name; not nil.
func (t tally[T]) sorted() []T {
	all := make([]T, 0, len(t))
	for _, name := range slices.Sorted(maps.Keys(t)) {
		all = append(all, *t[name])
	}
	return all
}

type folding struct {
	run      Run
	sources  tally[Source]
	refused  tally[Refusal]
	barriers tally[Barrier]
	sinks    tally[Sink]
	outputs  tally[Output]
	effects  tally[effect]
}

// effect is how an effect stands.
type effect struct {
	Sink    string `json:"sink"`
	Source  string `json:"source"`
	Chunk   int64  `json:"chunk"`
	Kind    string `json:"kind"`
	State   string `json:"state"`
	Rows    int64  `json:"rows"`
	Bytes   int64  `json:"bytes"`
	Refused int64  `json:"refused"`
}

// fold takes the next event. Types that change nothing of a snapshot are passed over.
func (f *folding) fold(e Event) error {
	switch {
	case e.Type == "run.began":
		f.run.Began, f.run.Status = e.At, "running"
		return json.Unmarshal(e.Data, &f.run)
	case e.Type == "run.resumed":
		f.run.Resumed++
	case e.Type == "run.ended":
		f.run.Ended = e.At
		return json.Unmarshal(e.Data, &f.run)
	case e.Type == "chunk.read":
		return each(e, func(more Source) {
			s := f.sources.of(more.Source)
			s.Source, s.Chunks, s.Rows = more.Source, s.Chunks+1, s.Rows+more.Rows
		})
	case e.Type == "source.ended":
		return each(e, func(more Source) {
			s := f.sources.of(more.Source)
			s.Source, s.Ended = more.Source, true
		})
	case e.Type == "rows.refused":
		return each(e, func(more Refusal) {
			more.Rows += f.refused.of(more.Node, more.Code, more.SentTo).Rows
			*f.refused.of(more.Node, more.Code, more.SentTo) = more
		})
	case e.Type == "batch.fired":
		return each(e, func(more Barrier) {
			b := f.barriers.of(more.Node)
			b.Node, b.Batches, b.Rows = more.Node, b.Batches+1, b.Rows+more.Rows
		})
	case e.Type == "output.published":
		return each(e, func(o Output) {
			o.Published = e.At
			*f.outputs.of(o.Sink) = o
		})
	case strings.HasPrefix(e.Type, "effect."):
		return each(e, func(s effect) { *f.effects.of(s.Sink, s.Source, fmt.Sprint(s.Chunk)) = s })
	}
	return nil
}

// each gives do the data of an event.
func each[T any](e Event, do func(T)) error {
	var data T
	err := json.Unmarshal(e.Data, &data)
	if err == nil {
		do(data)
	}
	return err
}

// addEffects counts effects as they stand at last.
func (f *folding) addEffects() {
	for _, e := range f.effects.sorted() {
		s := f.sinks.of(e.Sink)
		s.Sink = e.Sink
		switch {
		case e.State != "finalized":
			s.Open++
		case e.Kind == "write":
			s.Parts, s.Rows, s.Bytes, s.Refused = s.Parts+1, s.Rows+e.Rows, s.Bytes+e.Bytes, s.Refused+e.Refused
		}
	}
}
