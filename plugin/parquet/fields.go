package parquet

import (
	"github.com/parquet-go/parquet-go/format"

	"waymark/plugin"
	"waymark/row"
)

// rowField is a column of the rows of a row group.
type rowField struct {
	node   *node
	label  []byte   // the key as it follows what is before it in the record
	column *column  // of one that is not nested; else nil
	kind   row.Kind // of its cells
}

// newFields returns the columns of the rows.
func (g *rowGroup) newFields() []rowField {
	fields := make([]rowField, len(g.file.root.children))
	for i, child := range g.file.root.children {
		before := byte(',')
		if i == 0 {
			before = '{'
		}
		f := rowField{node: child, label: append([]byte{before}, child.label...), kind: plugin.CellText}
		if len(g.file.kinds) > 0 {
			f.kind = child.cellKind(g.file.kinds[i])
		}
		if child.shape == leafShape && !child.repeated {
			f.column = g.columns[child.first]
		}
		fields[i] = f
	}
	return fields
}

// row appends the row at hand, and its cells.
func (g *rowGroup) row() error {
	for i := range g.fields {
		f := &g.fields[i]
		g.dst = append(g.dst, f.label...)
		at := len(g.dst)
		if f.column != nil {
			if err := g.flat(f); err != nil {
				return err
			}
			continue
		}
		g.field = f.node.name
		if err := g.any(f.node, 0); err != nil {
			return err
		}
		g.note(plugin.CellText, plugin.Span(at-g.start, len(g.dst)-at))
	}
	g.dst = append(g.dst, '}')
	return nil
}

// flat appends the value at hand of a column that is not nested, or null.
func (g *rowGroup) flat(f *rowField) error {
	c := f.column
	if c.at == c.page.Entries {
		there, err := c.load()
		if err != nil {
			return err
		}
		if !there {
			return apart(c)
		}
	}
	if c.page.Def != nil && c.page.Def[c.at] == 0 {
		c.at++
		c.begun++
		g.dst = append(g.dst, "null"...)
		g.note(row.Null, 0)
		return nil
	}
	if f.node.leaf.physical == format.ByteArray {
		if text := c.page.Value(c.value); len(text) > maxRecordBytes {
			g.dst, _ = appendText(g.dst, text[:keptBytes])
			return errOver
		}
	}
	at := len(g.dst)
	var of cell
	var why flaw
	g.dst, of, why = c.appendCell(g.dst, f.kind)
	if why.code != "" && g.flaw == nil {
		g.flaw = &plugin.Rejection{Code: why.code, Field: f.node.name, Message: why.message}
	}
	g.note(of.kind, of.number(at-g.start, len(g.dst)-at))
	c.at++
	c.value++
	c.begun++
	if len(g.dst)-g.start > maxRecordBytes {
		return errOver
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
