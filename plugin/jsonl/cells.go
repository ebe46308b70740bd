package jsonl

import (
	"math"

	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
)

// cellLayout is what a parser found out about the columns of cells.
type cellLayout struct {
	columns []string
	fields  []int // of each column: the declared field that it is read into
	usable  bool  // every column is for a declared field, and no field that rows must have lacks one
	shape   *row.Shape
}

// layoutOf returns the layout of these columns, which is that of the record before if they are of the same file.
func (p *parser) layoutOf(columns []string) *cellLayout {
	l := &p.layout
	if len(l.columns) == len(columns) && &l.columns[0] == &columns[0] {
		return l
	}
	*l = cellLayout{columns: columns, fields: make([]int, len(columns)), usable: true, shape: row.NewShape(p.schema.Names(nil))}
	found := make([]bool, len(p.schema.Fields))
	for i, column := range columns {
		field, declared := p.index[column]
		if !declared {
			l.usable = false
			return l
		}
		l.fields[i], found[field] = field, true
	}
	for i := range found {
		l.usable = l.usable && (found[i] || p.schema.Fields[i].Optional)
	}
	return l
}

// ParseCells parses a record by its cells. Whatever the schema may reject is parsed by its text, which says why.
func (p *parser) ParseCells(cells *plugin.Cells, i int, text string, values []row.Value) (row.Row, error) {
	layout := p.layoutOf(cells.Columns)
	if !layout.usable {
		return p.Parse(text, values)
	}
	p.begin(values)
	at := i * len(layout.fields)
	kinds, numbers := cells.Kinds[at:at+len(layout.fields)], cells.Values[at:at+len(layout.fields)]
	for k, field := range layout.fields {
		if !p.cell(field, kinds[k], numbers[k], text) {
			return p.Parse(text, p.values)
		}
	}
	return row.Row{Shape: layout.shape, Values: p.values}, nil
}

// cell takes the value of a declared field, and reports whether the schema admits it.
func (p *parser) cell(field int, kind row.Kind, n uint64, text string) bool {
	f, value := &p.schema.Fields[field], &p.values[field]
	switch {
	case kind == row.Null:
		return f.Optional
	case kind == plugin.CellText:
		raw, err := row.ScanValue(plugin.Spanned(text, n))
		return err == nil && p.declared(field, raw) == nil
	case kind != f.Kind:
		return false
	}
	switch kind {
	case row.Int:
		*value = row.IntValue(int64(n))
	case row.String:
		if *value = row.StringValue(plugin.Spanned(text, n)); len(value.Text()) > file.MaxCellBytes-len(`""`) {
			return false
		}
	case row.Float:
		*value = row.FloatValue(math.Float64frombits(n))
	case row.Bool:
		*value = row.BoolValue(n == 1)
	case row.Date:
		*value = row.DateValue(int64(n))
	case row.Timestamp:
		*value = row.TimestampOfMicros(int64(n))
	default:
		return false
	}
	if f.HasRules() {
		_, refused := f.Check(*value)
		return refused == nil
	}
	return true
}
