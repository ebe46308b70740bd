package landscape

import (
	"context"
	"fmt"
	"sync"
)

// Once returns a Reader for one question. Of what never changes once it is recorded, such as nodes and ways, and of which parts sinks have, it reads nothing twice; of all else what is
// recorded then.
func (r *Reader) Once() *Reader {
	once := *r
	once.from = &onceSource{source: r.from, known: map[string][]Record{}}
	return &once
}

// onceSource reads what never changes once. It is safe for concurrent use.
type onceSource struct {
	source
	mu    sync.Mutex
	known map[string][]Record // by what was asked for; never more than mostKnown
	order []string            // of what is known, the first one first
}

// How much is kept: enough for one row, and little when a question is about many.
const (
	mostKnown  = 64
	mostOfKind = 1024 // records that answer a query
)

// Read does what Driver.Read says.
func (s *onceSource) Read(ctx context.Context, kind Record, q Query, yield func(Record) bool) error {
	switch kind.(type) {
	case Node, WayRecord, WayStepRecord, ChunkWayRecord, PassageRecord, SinkPart, chunkByRow:
	default:
		return s.source.Read(ctx, kind, q, yield)
	}
	key := fmt.Sprintf("%T %#v", kind, q)
	s.mu.Lock()
	known := s.known[key]
	s.mu.Unlock()
	if known != nil {
		for _, record := range known {
			if !yield(record) {
				break
			}
		}
		return nil
	}
	var found []Record
	whole := true
	err := s.source.Read(ctx, kind, q, func(record Record) bool {
		if len(found) <= mostOfKind {
			found = append(found, record)
		}
		whole = yield(record)
		return whole
	})
	if err == nil && whole && found != nil && len(found) <= mostOfKind { // what is not there may come
		s.keep(key, found)
	}
	return err
}

// keep keeps what a query found, in the place of what was asked for first if there is too much.
func (s *onceSource) keep(key string, found []Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[key] == nil {
		s.order = append(s.order, key)
	}
	s.known[key] = found
	if len(s.order) > mostKnown {
		delete(s.known, s.order[0])
		s.order = s.order[1:]
	}
}
