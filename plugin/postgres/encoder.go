package postgres

import (
	"slices"
	"strconv"
	"strings"

	"waymark/pipeline/row"
	"waymark/plugin"
)

// encoder writes rows in the text format of COPY: a line for each, the columns separated by tabs, \N for null.
type encoder struct {
	header []byte
	names  []string
	key    []bool // of each column: rows that replace others need a value there
	strict bool   // a field without a column is a rejection, not left out on purpose

	shape     *row.Shape // of the row before: positions and extra are prepared for it
	positions []int      // of the columns in shape, -1 for one that it does not have
	extra     string     // a field of shape without a column, if strict; "" if none
}

func newEncoder(h *header, strict bool) (*encoder, error) {
	text, err := h.encode()
	if err != nil {
		return nil, err
	}
	e := &encoder{header: text, names: h.names(), strict: strict}
	e.key, e.positions = make([]bool, len(e.names)), make([]int, len(e.names))
	for i, name := range e.names {
		e.key[i] = slices.Contains(h.Key, name)
	}
	return e, nil
}

func (e *encoder) Header() []byte { return e.header }

// Columns returns the columns of the table that are written.
func (e *encoder) Columns() []plugin.Field {
	columns := make([]plugin.Field, len(e.names))
	for i, name := range e.names {
		columns[i].Name = name
	}
	return columns
}

func (e *encoder) Append(dst []byte, r row.Row) ([]byte, error) {
	if r.Shape != e.shape {
		e.prepare(r.Shape)
	}
	start := len(dst)
	if e.extra != "" {
		return dst, &plugin.Rejection{Code: codeExtraField, Field: e.extra, Message: "the table has no column for this field; list columns"}
	}
	for i, position := range e.positions {
		if i > 0 {
			dst = append(dst, '\t')
		}
		value := row.Value{}
		if position >= 0 {
			value = r.Values[position]
		}
		var rejected *plugin.Rejection
		if dst, rejected = e.append(dst, i, value); rejected != nil {
			return dst[:start], rejected
		}
	}
	return append(dst, '\n'), nil
}

// prepare finds the columns in the shape.
func (e *encoder) prepare(shape *row.Shape) {
	e.shape, e.extra = shape, ""
	for i, name := range e.names {
		e.positions[i] = -1
		if at, has := shape.Index(name); has {
			e.positions[i] = at
		}
	}
	if !e.strict {
		return
	}
	for _, field := range shape.Fields() {
		if !slices.Contains(e.names, field) {
			e.extra = field
			return
		}
	}
}

// microsecond is what Postgres' moments are made of, in nanoseconds.
const microsecond = 1000

func (e *encoder) append(dst []byte, i int, v row.Value) ([]byte, *plugin.Rejection) {
	switch v.Kind() {
	case row.Null:
		if e.key[i] {
			return dst, &plugin.Rejection{Code: codeSinkNotNull, Field: e.names[i], Message: "a null in the key: nothing tells which row it replaces"}
		}
		return append(dst, `\N`...), nil
	case row.String, row.JSON:
		if strings.IndexByte(v.Text(), 0) >= 0 {
			return dst, &plugin.Rejection{Code: codeNUL, Field: e.names[i], Message: "the text has a NUL, which Postgres cannot hold; take it out in a step"}
		}
		return appendEscaped(dst, v.Text()), nil
	case row.Timestamp:
		if v.Nanos()%microsecond != 0 {
			return dst, &plugin.Rejection{Code: codeNanoseconds, Field: e.names[i],
				Message: strconv.Quote(string(row.AppendText(nil, v))) + " is finer than microseconds, which is all that Postgres keeps; round it in a step"}
		}
	}
	return row.AppendText(dst, v), nil // of digits, letters, signs and points alone
}

// appendEscaped appends a text as COPY reads it.
func appendEscaped(dst []byte, text string) []byte {
	start := 0
	for i := 0; i < len(text); i++ {
		letter := escapes[text[i]]
		if letter == 0 {
			continue
		}
		dst = append(append(dst, text[start:i]...), '\\', letter)
		start = i + 1
	}
	return append(dst, text[start:]...)
}

// escapes are the signs that mean something to COPY, with the letters that stand for them.
var escapes = [256]byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't', '\v': 'v', '\\': '\\'}
