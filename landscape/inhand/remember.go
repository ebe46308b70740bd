package inhand

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"waymark/landscape"
)

// Limits of what a memory keeps of one answer of the record.
const (
	mostRecords = 256
	mostKept    = 64 << 10 // bytes
)

// memory holds what a caller has read for one answer. It is safe for concurrent use.
type memory struct {
	mu    sync.Mutex
	known map[string][]answer // by question
}

// answer is what the record answers to a question, about some columns of a table.
type answer struct {
	of     *landscape.Table
	values [][]any
}

type memoryKey struct{}

// Remember returns a context for one answer: a query that is repeated with it gets the first result. Use it only for
// code that reads and does not wait, because it sees no later change.
func Remember(ctx context.Context) context.Context {
	return context.WithValue(ctx, memoryKey{}, &memory{known: map[string][]answer{}})
}

// question identifies a query, whatever columns it reads.
func question(of *landscape.Table, q landscape.Query) string {
	keys := make([]string, of.Keys)
	for i, c := range of.Columns[:of.Keys] {
		keys[i] = c.Name
	}
	return fmt.Sprintf("%s %q %#v", of.Name, keys, q)
}

// find returns what is remembered of a query; false if nothing is.
func (m *memory) find(of *landscape.Table, q landscape.Query) (values [][]any, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.known[question(of, q)] {
		at := places(of, a.of)
		if slices.Contains(at, -1) {
			continue
		}
		for _, v := range a.values {
			values = append(values, pick(v, at))
		}
		return values, true
	}
	return nil, false
}

// read is Read of a driver that remembers.
func (m *memory) read(
	ctx context.Context, d landscape.Driver, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool,
) error {
	of := landscape.TableOf(kind)
	if values, ok := m.find(of, q); ok {
		return tell(of, values, yield)
	}
	kept, size, whole := [][]any(nil), 0, true
	err := d.Read(ctx, kind, q, func(r landscape.Record) bool {
		if whole = whole && len(kept) < mostRecords && size < mostKept; whole {
			values := of.AppendValues(nil, r)
			size += keep(values)
			kept = append(kept, values)
		}
		more := yield(r)
		whole = whole && (more || q.Limit == len(kept))
		return more
	})
	if err == nil && whole && size < mostKept {
		m.mu.Lock()
		defer m.mu.Unlock()
		asked := question(of, q)
		m.known[asked] = append(m.known[asked], answer{of, kept})
	}
	return err
}

// tell yields the records with some values.
func tell(of *landscape.Table, found [][]any, yield func(landscape.Record) bool) error {
	for _, values := range found {
		record, err := of.Record(values)
		if err != nil {
			return err
		}
		if !yield(record) {
			break
		}
	}
	return nil
}
