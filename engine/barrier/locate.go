package barrier

import (
	"waymark/engine/plan"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// CodeNoSuchField is the code of a row that lacks a field which the barrier names. Stored; never rename.
const CodeNoSuchField = "NO_SUCH_FIELD"

// locator finds fields by name in rows of any shape. It works the positions out once for each shape.
type locator struct {
	names []string
	last  *row.Shape
	at    []int // in rows of the last shape: the position of each name, plan.None if they lack it
	known map[*row.Shape][]int
}

// maxShapes bounds what is remembered: rows of ever new shapes must not fill the memory.
const maxShapes = 1024

func newLocator(names []string) *locator {
	return &locator{names: names, known: map[*row.Shape][]int{}}
}

// positions returns the positions of the names in rows of the shape. The slice belongs to the locator.
func (l *locator) positions(shape *row.Shape) []int {
	if shape != l.last {
		l.last, l.at = shape, l.find(shape)
	}
	return l.at
}

func (l *locator) find(shape *row.Shape) []int {
	if at, found := l.known[shape]; found {
		return at
	}
	if len(l.known) >= maxShapes {
		clear(l.known)
	}
	at := make([]int, len(l.names))
	for i, name := range l.names {
		position, found := shape.Index(name)
		if !found {
			position = plan.None
		}
		at[i] = position
	}
	l.known[shape] = at
	return at
}

// appendTo appends the values of the fields to dst. A row that lacks one is rejected.
func (l *locator) appendTo(dst []row.Value, in row.Row) ([]row.Value, *plugin.Rejection) {
	for i, position := range l.positions(in.Shape) {
		if position == plan.None {
			return nil, NoSuchField(l.names[i])
		}
		dst = append(dst, in.Values[position])
	}
	return dst, nil
}

// valueAt returns the value at a position that a locator found, null for a field that is not there.
func valueAt(in row.Row, position int) row.Value {
	if position == plan.None {
		return row.NullValue()
	}
	return in.Values[position]
}

// arena hands out slices of values that are cut from large blocks, so that rows need no allocation of their own.
type arena struct{ free []row.Value }

// blockValues is the size of a block: 128 KiB.
const blockValues = 4096

// room returns an empty slice with the capacity for n values. The next call returns the same memory, unless keep was called.
func (a *arena) room(n int) []row.Value {
	if n > len(a.free) {
		a.free = make([]row.Value, max(n, blockValues))
	}
	return a.free[:0:n]
}

// keep gives away the memory of values, which fill what room returned.
func (a *arena) keep(values []row.Value) { a.free = a.free[len(values):] }
