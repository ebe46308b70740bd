package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/compress"

	"waymark/pipeline/row"
	"waymark/plugin"
)

// The codes of the rejections of Parquet sinks, which other sinks and steps have as well. Stored; never rename.
const (
	codeExtraField  = "EXTRA_FIELD" // the row has a field that no column is for
	codeRequired    = "REQUIRED"    // a column that is never null would have to be
	codeWrongType   = row.CodeWrongType
	codeInexact     = row.CodeInexact
	codeNumberWidth = row.CodeNumberRange
)

// textDecimal is the scale of a decimal that is written as text.
const textDecimal = -1

// target is a column that is written.
type target struct {
	plugin.Field
	scale int // of a decimal: digits after the point, or textDecimal
}

// encoder gathers rows, each as its columns in order: 0 for null; 1 and 2 for false and true; the length plus 1 of a text
// before it; 1 before what has 8 bytes, or 16.
type encoder struct {
	columns     []target
	strict      bool // a field without a column is a rejection, not left out on purpose
	compression compress.Codec

	shape     *row.Shape // of the row before: positions and extra are prepared for it
	positions []int      // of the columns in shape, -1 for one that it does not have
	extra     string     // a field of shape without a column, if strict; "" if none
	json      []byte
}

func newEncoder(columns []target, strict bool, compression compress.Codec) *encoder {
	return &encoder{columns: columns, strict: strict, compression: compression, positions: make([]int, len(columns))}
}

// Header returns nothing: every part is a file of its own.
func (e *encoder) Header() []byte { return nil }

// Columns returns the columns of the schema.
func (e *encoder) Columns() []plugin.Field {
	columns := make([]plugin.Field, len(e.columns))
	for i, column := range e.columns {
		columns[i] = column.Field
	}
	return columns
}

// Append gathers a row.
func (e *encoder) Append(dst []byte, r row.Row) ([]byte, error) {
	if r.Shape != e.shape {
		e.prepare(r.Shape)
	}
	if e.extra != "" {
		return dst, reject(codeExtraField, e.extra, "the files have no column for this field; list columns")
	}
	start := len(dst)
	for i, position := range e.positions {
		value := row.Value{}
		if position >= 0 {
			value = r.Values[position]
		}
		var refused *plugin.Rejection
		if dst, refused = e.append(dst, &e.columns[i], value); refused != nil {
			return dst[:start], refused
		}
	}
	return dst, nil
}

func reject(code, field, format string, args ...any) *plugin.Rejection {
	return &plugin.Rejection{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

// prepare finds the columns in the shape.
func (e *encoder) prepare(shape *row.Shape) {
	e.shape, e.extra = shape, ""
	for i := range e.columns {
		position, ok := shape.Index(e.columns[i].Name)
		if !ok {
			position = -1
		}
		e.positions[i] = position
	}
	if !e.strict {
		return
	}
	for _, field := range shape.Fields() {
		if !slices.ContainsFunc(e.columns, func(c target) bool { return c.Name == field }) {
			e.extra = field
			return
		}
	}
}

func (e *encoder) append(dst []byte, column *target, v row.Value) ([]byte, *plugin.Rejection) {
	switch {
	case v.IsNull() && column.Optional:
		return append(dst, 0), nil
	case v.IsNull():
		return dst, reject(codeRequired, column.Name, "the column is never null, and this row has no value for it")
	case column.Kind == row.JSON:
		e.json = row.AppendJSONValue(e.json[:0], v)
		return appendBlob(dst, string(e.json)), nil
	case v.Kind() != column.Kind:
		return dst, reject(codeWrongType, column.Name, "the column holds values of type %s, and this is of type %s", column.Kind, v.Kind())
	}
	switch v.Kind() {
	case row.Bool:
		if v.Bool() {
			return append(dst, 2), nil
		}
		return append(dst, 1), nil
	case row.Int, row.Date:
		return appendWord(dst, uint64(v.Int())), nil
	case row.Float:
		return appendWord(dst, math.Float64bits(v.Float())), nil
	case row.Timestamp:
		if v.Nanos()%1000 != 0 {
			return dst, reject(codeInexact, column.Name, "%q has parts of a microsecond; round it before", row.AppendText(nil, v))
		}
		return appendWord(dst, uint64(v.Int()*1e6+int64(v.Nanos()/1000))), nil
	case row.Decimal:
		if column.scale != textDecimal {
			return appendFixed(dst, column, v.Text())
		}
	}
	return appendBlob(dst, v.Text()), nil
}

func appendWord(dst []byte, word uint64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, 1), word)
}

func appendBlob(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))+1), text...)
}
