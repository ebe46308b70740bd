package barrier

import (
	"encoding/binary"
	"math"

	"waymark/pipeline/row"
)

// writer writes the state of a machine in the form that AppendState describes.
type writer struct {
	body   []byte
	table  []byte // of shapes
	shapes map[string]uint64
	known  map[*row.Shape]uint64
}

func newWriter() *writer {
	return &writer{shapes: map[string]uint64{}, known: map[*row.Shape]uint64{}}
}

func (w *writer) number(n uint64)   { w.body = binary.AppendUvarint(w.body, n) }
func (w *writer) signed(n int64)    { w.body = binary.AppendVarint(w.body, n) }
func (w *writer) count(n int)       { w.number(uint64(n)) }
func (w *writer) value(v row.Value) { w.body = appendValue(w.body, v) }
func (w *writer) float(f float64)   { w.body = appendFloat(w.body, f) }
func (w *writer) bool(b bool)       { w.value(row.BoolValue(b)) }
func (w *writer) text(text string)  { w.body = appendText(w.body, text) }
func (w *writer) token(t Token)     { w.count(t.Lane); w.signed(t.Row) }

func (w *writer) values(values []row.Value) {
	for _, value := range values {
		w.value(value)
	}
}

// list writes values and how many they are.
func (w *writer) list(values []row.Value) {
	w.count(len(values))
	w.values(values)
}

func (w *writer) tokens(tokens []Token) {
	w.count(len(tokens))
	for _, token := range tokens {
		w.token(token)
	}
}

func (w *writer) row(r row.Row) {
	w.number(w.shape(r.Shape))
	w.values(r.Values)
}

// shape returns the number of the shape in the table. Shapes with the same fields are one.
func (w *writer) shape(shape *row.Shape) uint64 {
	if n, found := w.known[shape]; found {
		return n
	}
	var names []byte
	for _, name := range shape.Fields() {
		names = appendText(names, name)
	}
	n, found := w.shapes[string(names)]
	if !found {
		n = uint64(len(w.shapes))
		w.shapes[string(names)] = n
		w.table = append(binary.AppendUvarint(w.table, uint64(shape.Len())), names...)
	}
	w.known[shape] = n
	return n
}

func (w *writer) members(members []member) {
	w.count(len(members))
	for _, m := range members {
		w.token(m.token)
		w.tokens(m.keys)
		w.row(m.row)
	}
}

// appendTo appends what was written, the table of shapes before the rows that refer to it.
func (w *writer) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(w.shapes)))
	dst = append(dst, w.table...)
	return append(dst, w.body...)
}

// appendValue appends a value so that values have the same bytes if and only if they are equal, and so that no value's
// bytes begin another's: those of several values in a row tell them apart as well.
func appendValue(dst []byte, v row.Value) []byte {
	dst = append(dst, byte(v.Kind()))
	switch v.Kind() {
	case row.Bool:
		if v.Bool() {
			return append(dst, 1)
		}
		return append(dst, 0)
	case row.Int, row.Date:
		return binary.AppendVarint(dst, v.Int())
	case row.Float:
		return appendFloat(dst, v.Float())
	case row.Timestamp:
		return binary.AppendUvarint(binary.AppendVarint(dst, v.Int()), uint64(v.Nanos()))
	case row.String, row.Decimal, row.JSON:
		return appendText(dst, v.Text())
	}
	return dst
}

func appendFloat(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(f))
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
