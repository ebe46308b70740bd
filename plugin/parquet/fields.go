package parquet

import (
	"waymark/pipeline/row"
	"waymark/plugin"
)

// rowField is a column of the rows of a row group.
type rowField struct {
	node  *node
	label []byte // the key, with what stands before it in the record
	queue *queue // of a column that is not nested; else nil
}

// newFields returns the columns of the rows.
func (g *rowGroup) newFields() []rowField {
	fields := make([]rowField, len(g.file.root.children))
	for i, child := range g.file.root.children {
		before := byte(',')
		if i == 0 {
			before = '{'
		}
		f := rowField{node: child, label: append([]byte{before}, child.label...)}
		if child.shape == leafShape && !child.repeated {
			kind := plugin.CellText
			if len(g.file.kinds) > 0 {
				kind = child.cellKind(g.file.kinds[i])
			}
			f.queue = newQueue(g.columns[child.first], f.label, kind)
			g.columns[child.first].queue = f.queue
		}
		fields[i] = f
	}
	return fields
}

// row appends the row at hand, and its cells.
func (g *rowGroup) row() error {
	for i := range g.fields {
		f := &g.fields[i]
		if f.queue != nil {
			if err := g.flat(f); err != nil {
				return err
			}
			continue
		}
		g.dst = append(g.dst, f.label...)
		at := len(g.dst)
		g.field = f.node.name
		if err := g.any(f.node, 0); err != nil {
			return err
		}
		g.note(plugin.CellText, plugin.Span(at-g.start, len(g.dst)-at))
	}
	g.dst = append(g.dst, '}')
	return nil
}

// flat appends the next value of a column that is not nested.
func (g *rowGroup) flat(f *rowField) error {
	next, err := f.queue.next()
	if err != nil {
		return err
	}
	if next == nil {
		return apart(f.queue.column)
	}
	at := len(g.dst) + len(f.label) - g.start
	g.dst = append(g.dst, f.queue.text(next)...)
	if next.in > inNull {
		if err := g.odd(f, next); err != nil {
			return err
		}
	}
	g.note(next.cell.kind, next.cell.number(at, len(g.dst)-g.start-at))
	if len(g.dst)-g.start > maxRecordBytes && next.in != inNull {
		return errOver
	}
	return nil
}

// odd takes note of a value that cannot be in a record.
func (g *rowGroup) odd(f *rowField, i *item) error {
	if i.in == tooLong {
		return errOver
	}
	if why := f.queue.flaw(); g.flaw == nil {
		g.flaw = &plugin.Rejection{Code: why.code, Field: f.node.name, Message: why.message}
	}
	return nil
}

// note adds a cell to the row at hand, if its cells are wanted.
func (g *rowGroup) note(kind row.Kind, value uint64) {
	if g.cells != nil {
		g.cells.Kinds, g.cells.Values = append(g.cells.Kinds, kind), append(g.cells.Values, value)
	}
}

// fillCells brings the cells to this number of rows, after a row that has not as many as there are columns, and does not need them.
func (g *rowGroup) fillCells(rows int) {
	if g.cells != nil {
		g.cells.Kinds, g.cells.Values = resized(g.cells.Kinds, rows*len(g.fields)), resized(g.cells.Values, rows*len(g.fields))
	}
}

// resized returns s with n elements. New ones are zero.
func resized[T any](s []T, n int) []T {
	if n <= len(s) {
		return s[:n]
	}
	return append(s, make([]T, n-len(s))...)
}
