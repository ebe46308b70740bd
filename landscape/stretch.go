package landscape

import (
	"context"
	"sync"
)

// Stretch returns a Log for the passes over chunks of an origin that follow each other, the last one included. What is
// recorded of the chunks that a pass begins with it reads of all of them, once one is asked for. It may be used as long as
// that does not change: for a moment.
func (l *Log) Stretch(run, origin string, first, last int64) *Log {
	if first == last {
		return l
	}
	reader, log := *l.Reader, *l
	reader.from = &stretchSource{source: l.from, run: run, origin: origin, first: first, last: last, known: map[string]map[int64][]Record{}}
	log.Reader = &reader
	return &log
}

// stretchSource reads some kinds of records of chunks that follow each other at once. It is safe for concurrent use.
type stretchSource struct {
	source
	run, origin string
	first, last int64

	mu    sync.Mutex
	known map[string]map[int64][]Record // by table and chunk
}

// Read does what Driver.Read says.
func (s *stretchSource) Read(ctx context.Context, kind Record, q Query, yield func(Record) bool) error {
	var chunkOf func(Record) int64
	switch kind.(type) {
	case Chunk:
		chunkOf = func(r Record) int64 { return r.(Chunk).Chunk }
	case recordLines:
		chunkOf = func(r Record) int64 { return r.(recordLines).Chunk }
	case Forgotten:
		chunkOf = func(r Record) int64 { return r.(Forgotten).Chunk }
	}
	chunk, within := s.within(q)
	if chunkOf == nil || !within {
		return s.source.Read(ctx, kind, q, yield)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[kind.Table()] == nil {
		found := map[int64][]Record{}
		from := Query{Prefix: q.Prefix[:2], After: []any{s.first - 1}}
		err := s.source.Read(ctx, kind, from, func(r Record) bool {
			n := chunkOf(r)
			if n >= s.first && n <= s.last {
				found[n] = append(found[n], r)
			}
			return n <= s.last
		})
		if err != nil {
			return err
		}
		s.known[kind.Table()] = found
	}
	for _, record := range s.known[kind.Table()][chunk] {
		if !yield(record) {
			break
		}
	}
	return nil
}

// within returns the chunk that a question is about, if it is one of these.
func (s *stretchSource) within(q Query) (chunk int64, ok bool) {
	if len(q.Prefix) != 3 || q.Prefix[0] != s.run || q.Prefix[1] != s.origin || q.After != nil {
		return 0, false
	}
	chunk, ok = q.Prefix[2].(int64)
	return chunk, ok && chunk >= s.first && chunk <= s.last
}
