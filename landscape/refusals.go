package landscape

import (
	"cmp"
	"context"
	"crypto/sha256"
	"iter"
	"slices"
)

// RowErrors are the errors on record of tokens of one origin, by row, lane and node. Each takes 48 bytes, whatever it says.
type RowErrors struct {
	run, source string
	errors      []rowErrorHash
	nodes       []string
}

// rowErrorHash is one of them.
type rowErrorHash struct {
	row, lane int64
	node      int // of nodes
	hash      recordHash
}

// RowErrors returns the errors of an origin's tokens.
func (r *Reader) RowErrors(ctx context.Context, run, source string) (*RowErrors, error) {
	all := &RowErrors{run: run, source: source}
	numbers := map[string]int{}
	var hasher recordHasher
	err := each(ctx, r.from, []any{run, source}, func(e RowError) bool {
		node, known := numbers[e.Node]
		if !known {
			node = len(all.nodes)
			numbers[e.Node], all.nodes = node, append(all.nodes, e.Node)
		}
		all.errors = append(all.errors, rowErrorHash{e.Row, e.Lane, node, hasher.rowError(e)})
		return true
	})
	return all, err
}

// rowError returns what an error says besides its key, and when.
func (s *recordHasher) rowError(e RowError) recordHash {
	t := TableOf(e)
	s.values, s.text = t.AppendValues(s.values[:0], e), s.text[:0]
	for i, column := range t.Columns {
		if !column.Key && !column.First {
			s.text = appendStored(s.text, s.values[i])
		}
	}
	whole := sha256.Sum256(s.text)
	return recordHash(whole[:16])
}

// Len returns how many there are.
func (r *RowErrors) Len() int { return len(r.errors) }

// Take removes the errors of rows before end from the beginning, and returns them.
func (r *RowErrors) Take(end int64) *RowErrors {
	n, _ := slices.BinarySearchFunc(r.errors, end, func(e rowErrorHash, end int64) int { return cmp.Compare(e.row, end) })
	taken := &RowErrors{run: r.run, source: r.source, errors: r.errors[:n:n], nodes: r.nodes}
	r.errors = r.errors[n:]
	return taken
}

// All returns them in order.
func (r *RowErrors) All() iter.Seq[RowErrorKey] {
	return func(yield func(RowErrorKey) bool) {
		for _, e := range r.errors {
			if !yield(RowErrorKey{Run: r.run, Source: r.source, Row: e.row, Lane: e.lane, Node: r.nodes[e.node]}) {
				return
			}
		}
	}
}

// holds reports whether the record is an error that is stored as it is.
func (r *RowErrors) holds(hasher *recordHasher, record Record) bool {
	e, is := record.(RowError)
	if !is || r == nil {
		return false
	}
	at, _ := slices.BinarySearchFunc(r.errors, e, func(a rowErrorHash, b RowError) int {
		return cmp.Or(cmp.Compare(a.row, b.Row), cmp.Compare(a.lane, b.Lane), cmp.Compare(r.nodes[a.node], b.Node))
	})
	if at == len(r.errors) {
		return false
	}
	found := r.errors[at]
	return found.row == e.Row && found.lane == e.Lane && r.nodes[found.node] == e.Node && found.hash == hasher.rowError(e)
}
