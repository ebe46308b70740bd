package row

import (
	"slices"
	"strconv"
	"strings"
)

// Shape is the ordered list of field names that many rows share. It is immutable and safe for concurrent use; rows of
// the same shape point to the same Shape, so that steps can prepare once for each shape and not for each row.
type Shape struct {
	fields []string
	index  map[string]int
	sorted []int    // positions in bytewise order of the field names
	keys   [][]byte // for each position of sorted: the canonical `"name":`
	labels [][]byte // for each field in order: the plain `"name":`
}

// NewShape returns the shape with these field names, in this order. The names are distinct and valid UTF-8: a repeated
// name is a programming error and panics.
func NewShape(fields []string) *Shape {
	s := &Shape{fields: slices.Clone(fields), index: make(map[string]int, len(fields)), sorted: make([]int, len(fields))}
	for i, name := range fields {
		if _, twice := s.index[name]; twice {
			panic("row: shape has the field " + strconv.Quote(name) + " twice")
		}
		s.index[name] = i
		s.sorted[i] = i
		s.labels = append(s.labels, append(appendJSONString(nil, name), ':'))
	}
	slices.SortFunc(s.sorted, func(a, b int) int { return strings.Compare(fields[a], fields[b]) })
	for _, position := range s.sorted {
		s.keys = append(s.keys, canonicalKey(s.labels[position]))
	}
	return s
}

// Fields returns the names in order. The slice belongs to the shape; do not change it.
func (s *Shape) Fields() []string { return s.fields }

// Len returns the number of fields.
func (s *Shape) Len() int { return len(s.fields) }

// Index returns the position of the field, and false if the shape has no such field.
func (s *Shape) Index(field string) (int, bool) {
	i, ok := s.index[field]
	return i, ok
}

// canonicalKey returns the label, with one more $ if the name begins with one. This keeps the keys in order.
func canonicalKey(label []byte) []byte {
	if label[1] == '$' {
		return slices.Concat([]byte(`"$`), label[1:])
	}
	return label
}

// Row is a shape and one value for each of its fields, in the shape's order. A Row that a step hands on may share its
// values with the row it was made from; values are immutable, the Values slice is not: clone a Row to keep it.
type Row struct {
	Shape  *Shape
	Values []Value
}

// Get returns the value of the field, and false if the row has no such field.
func (r Row) Get(field string) (Value, bool) {
	i, ok := r.Shape.Index(field)
	if !ok {
		return Value{}, false
	}
	return r.Values[i], true
}

// Clone returns a row with a Values slice of its own.
func (r Row) Clone() Row { return Row{Shape: r.Shape, Values: slices.Clone(r.Values)} }
