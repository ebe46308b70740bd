package csv

import (
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// encoder writes rows as RFC 4180 text that the CSV source reads back: null is an empty cell, an empty text is "".
type encoder struct {
	*sinkDialect
	columns []string
	strict  bool // a field without a column is a rejection, not left out on purpose
	header  []byte

	shape     *row.Shape // of the row before: positions and extra are prepared for it
	positions []int      // of the columns in shape, -1 for one that it does not have
	extra     string     // a field of shape without a column, if strict; "" if none
}

func newEncoder(dialect *sinkDialect, columns []string, strict bool) *encoder {
	e := &encoder{sinkDialect: dialect, columns: columns, strict: strict, positions: make([]int, len(columns))}
	for i, column := range columns {
		if i > 0 {
			e.header = append(e.header, e.delimiter)
		}
		e.header = e.appendString(e.header, column)
	}
	e.header = append(e.header, e.end...)
	return e
}

func (e *encoder) Header() []byte { return e.header }

// Columns returns the columns of the header.
func (e *encoder) Columns() []plugin.Field {
	columns := make([]plugin.Field, len(e.columns))
	for i, name := range e.columns {
		columns[i].Name = name
	}
	return columns
}

func (e *encoder) Append(dst []byte, r row.Row) ([]byte, error) {
	if r.Shape != e.shape {
		e.prepare(r.Shape)
	}
	if e.extra != "" {
		return dst, &plugin.Rejection{Code: codeExtraField, Field: e.extra, Message: "the file has no column for this field; list columns"}
	}
	start := len(dst)
	for i, position := range e.positions {
		if i > 0 {
			dst = append(dst, e.delimiter)
		}
		if position >= 0 {
			dst = e.appendValue(dst, r.Values[position])
		}
	}
	if len(dst) == start {
		return dst, &plugin.Rejection{Code: codeLoneNull, Field: e.columns[0], Message: "null in the only column would be a blank line; add a column or write jsonl"}
	}
	return append(dst, e.end...), nil
}

// prepare finds the columns in the shape.
func (e *encoder) prepare(shape *row.Shape) {
	e.shape, e.extra = shape, ""
	found := 0
	for i, column := range e.columns {
		position, ok := shape.Index(column)
		if !ok {
			position = -1
		} else {
			found++
		}
		e.positions[i] = position
	}
	if e.strict && found < shape.Len() {
		e.extra = e.withoutColumn(shape)
	}
}

func (e *encoder) withoutColumn(shape *row.Shape) string {
	for _, field := range shape.Fields() {
		if !slices.Contains(e.columns, field) {
			return field
		}
	}
	return ""
}

func (e *encoder) appendValue(dst []byte, v row.Value) []byte {
	switch v.Kind() {
	case row.String, row.JSON:
		return e.appendString(dst, v.Text())
	}
	return row.AppendText(dst, v)
}

// appendString appends a text as a cell, between quotes if it would not be read back as it is without them.
func (e *encoder) appendString(dst []byte, text string) []byte {
	formula := e.escape && text != "" && pipeline.IsFormula(text[0])
	if !formula && !e.needsQuotes(text) {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	if formula {
		dst = append(dst, '\'')
	}
	for {
		quote := strings.IndexByte(text, '"')
		if quote < 0 {
			dst = append(dst, text...)
			return append(dst, '"')
		}
		dst = append(dst, text[:quote+1]...)
		dst = append(dst, '"')
		text = text[quote+1:]
	}
}

// needsQuotes also holds for what readers other than ours take for something else: nothing for null, spaces around a cell
// for padding, \. for the end of a COPY, U+FEFF for a byte order mark.
func (e *encoder) needsQuotes(text string) bool {
	if text == "" || isPadding(text[0]) || isPadding(text[len(text)-1]) || text == `\.` || strings.HasPrefix(text, "\ufeff") {
		return true
	}
	for i := range len(text) {
		if e.special[text[i]] {
			return true
		}
	}
	return false
}

func isPadding(c byte) bool { return c == ' ' || c == '\t' }
