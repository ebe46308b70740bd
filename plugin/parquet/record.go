package parquet

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"waymark/plugin"
)

// rowGroup makes records of the rows of a row group.
type rowGroup struct {
	file    *contents
	columns []*column
	fields  []rowField
	rows    int64 // that are wanted
	done    int64 // of them, the one at hand included

	cells *plugin.Cells // where the cells of rows go; nil: nowhere
	dst   []byte        // where the record at hand goes
	start int           // of it in dst
	flaw  *plugin.Rejection
	field string // the column of the row, not of its parts
}

// openGroup opens a row group behind its first rows, which are skipped.
func (c *contents) openGroup(r io.ReaderAt, group int, skip int64) (g *rowGroup, err error) {
	defer confine(&err)
	g = &rowGroup{file: c, rows: c.meta.RowGroups[group].NumRows - skip}
	open := new(int64)
	for i := range c.leaves {
		column := c.newColumn(r, group, i, skip, open)
		if err := column.skip(); err != nil {
			return nil, err
		}
		g.columns = append(g.columns, column)
	}
	g.fields = g.newFields()
	return g, nil
}

// errOver ends a record that is too large.
var errOver = errors.New("over the limit of a record")

// next appends the next row to dst, as one JSON object. flaw says why it cannot be a record; then something that people
// understand stands for it. It returns io.EOF if there are no more.
func (g *rowGroup) next(dst []byte) (out []byte, flaw *plugin.Rejection, err error) {
	defer confine(&err)
	if g.done == g.rows {
		return dst, nil, g.end()
	}
	g.done++
	g.dst, g.start, g.flaw = dst, len(dst), nil
	err = g.row()
	if errors.Is(err, errOver) {
		err = g.cut()
	}
	out, g.dst = g.dst, nil
	return out, g.flaw, err
}

// end returns io.EOF if the columns end where the rows do.
func (g *rowGroup) end() error {
	for _, c := range g.columns {
		more, err := c.more()
		if err != nil {
			return err
		}
		if more {
			return fault(codeCorrupt, "row group %d, column %q: it has more values than there are rows", c.stream.group, c.leaf.path)
		}
	}
	return io.EOF
}

// cut ends the record that is too large after its first bytes, and goes to the next row.
func (g *rowGroup) cut() error {
	g.dst = g.dst[:min(len(g.dst), g.start+keptBytes)]
	g.flaw = &plugin.Rejection{Code: codeRowTooLarge, Message: "the row has more than 4194304 bytes as JSON; the first ones are kept"}
	for _, c := range g.columns {
		if err := c.endRow(g.done); err != nil {
			return err
		}
	}
	return nil
}

// any appends a node. rep is the level of repetition that its first values must have: by that the columns are held
// together.
func (g *rowGroup) any(n *node, rep int) error {
	switch {
	case n.repeated:
		return g.list(n, n, rep)
	case n.shape == leafShape:
		return g.leaf(n, rep)
	}
	return g.one(n, rep)
}

// one appends a node that is not repeated.
func (g *rowGroup) one(n *node, rep int) error {
	if n.optional {
		first := g.columns[n.first]
		there, err := first.ready()
		if err != nil {
			return err
		}
		if there && first.def() < n.def {
			g.dst = append(g.dst, "null"...)
			return g.drop(n, rep)
		}
	}
	return g.present(n, rep)
}

// drop passes over the one entry that each column has of a node that is not there.
func (g *rowGroup) drop(n *node, rep int) error {
	for _, c := range g.columns[n.first : n.first+n.columns] {
		there, err := c.ready()
		if err != nil {
			return err
		}
		if !there || c.rep() != rep || c.def() != n.def-1 {
			return apart(c)
		}
		c.advance()
	}
	return nil
}

func apart(c *column) error {
	return fault(codeCorrupt, "row group %d, column %q: it contradicts the columns beside it", c.stream.group, c.leaf.path)
}

// present appends a node that is there.
func (g *rowGroup) present(n *node, rep int) error {
	switch n.shape {
	case leafShape:
		return g.leaf(n, rep)
	case listShape:
		return g.list(n.children[0], n.element(), rep)
	case mapShape:
		return g.entries(n.children[0], rep)
	}
	g.dst = append(g.dst, '{')
	for i, child := range n.children {
		if i > 0 {
			g.dst = append(g.dst, ',')
		}
		g.dst = append(g.dst, child.label...)
		if err := g.any(child, rep); err != nil {
			return err
		}
	}
	g.dst = append(g.dst, '}')
	return nil
}

// list appends the elements of a repeated node: the node itself, or its only child.
func (g *rowGroup) list(repeated, element *node, rep int) error {
	g.dst = append(g.dst, '[')
	err := g.each(repeated, rep, func(rep int) error {
		if element == repeated {
			return g.present(repeated, rep)
		}
		return g.one(element, rep)
	})
	g.dst = append(g.dst, ']')
	return err
}

// entries appends the entries of a map as an object.
func (g *rowGroup) entries(repeated *node, rep int) error {
	key, value := repeated.children[0], repeated.children[1]
	g.dst = append(g.dst, '{')
	err := g.each(repeated, rep, func(rep int) error {
		start := len(g.dst)
		if err := g.one(key, rep); err != nil {
			return err
		}
		if g.dst[start] != '"' {
			text := string(g.dst[start:])
			g.dst = appendString(g.dst[:start], text)
		}
		g.dst = append(g.dst, ':')
		return g.one(value, rep)
	})
	g.dst = append(g.dst, '}')
	return err
}

// each calls visit for each occurrence of a repeated node, with a comma between them.
func (g *rowGroup) each(repeated *node, rep int, visit func(rep int) error) error {
	first := g.columns[repeated.first]
	there, err := first.ready()
	if err != nil {
		return err
	}
	if !there || first.def() < repeated.def {
		return g.drop(repeated, rep)
	}
	for {
		if err := visit(rep); err != nil {
			return err
		}
		more, err := first.ready()
		if err != nil {
			return err
		}
		if !more || first.rep() < repeated.rep {
			return nil
		}
		rep = repeated.rep
		g.dst = append(g.dst, ',')
	}
}

// leaf appends the value at hand of a column, or null.
func (g *rowGroup) leaf(n *node, rep int) error {
	c := g.columns[n.first]
	there, err := c.ready()
	if err != nil {
		return err
	}
	if !there || c.rep() != rep {
		return apart(c)
	}
	if def := c.def(); def < n.def {
		if !n.optional || def != n.def-1 {
			return apart(c)
		}
		g.dst = append(g.dst, "null"...)
		c.advance()
		return nil
	}
	if n.leaf.physical == format.ByteArray {
		if text := c.page.Value(c.value); len(text) > maxRecordBytes {
			g.dst, _ = appendText(g.dst, text[:keptBytes])
			return errOver
		}
	}
	var why flaw
	g.dst, why = c.append(g.dst)
	if why.code != "" && g.flaw == nil {
		g.flaw = &plugin.Rejection{Code: why.code, Field: g.field, Message: why.message}
	}
	c.advance()
	if len(g.dst)-g.start > maxRecordBytes {
		return errOver
	}
	return nil
}
