package row

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A CanonicalParser reads rows back from their canonical form: it is the inverse of AppendCanonical. It reuses its
// memory and is not for concurrent use.
type CanonicalParser struct {
	first  *Shape            // the fields that come first
	shapes map[string]*Shape // by the names of the fields in the order of the text, each after its length
	last   *Shape            // of the row before: most rows have the shape of their neighbour

	visit func(string, RawValue) error
	names []string // of the fields of the text at hand
	key   []byte   // of its shape in shapes
	form  []byte   // what AppendCanonical makes of the row
}

// maxCanonicalShapes bounds how many shapes a parser remembers. Beyond it, some shapes are made twice.
const maxCanonicalShapes = 1024

// NewCanonicalParser returns a parser for rows whose fields stand in this order, as far as a row has them, and after them
// the others in the order of the text, which is bytewise. The names are distinct: a repeated one panics, as in NewShape.
// With nil, all fields stand in the order of the text.
func NewCanonicalParser(order []string) *CanonicalParser {
	p := &CanonicalParser{first: NewShape(order), shapes: make(map[string]*Shape), last: NewShape(nil)}
	p.visit = p.member
	return p
}

// Parse returns the row whose canonical form is text. The values are appended to values[:0] and may share text's memory,
// so that text must stay unchanged as long as they are used. Rows with the same fields share one Shape, as long as there
// are no more than about a thousand shapes. Only strings with escapes, keys of JSON with a $ and new shapes allocate.
//
// For every row r, the text of AppendCanonical(nil, r) gives the fields and values of r. Any other text is an error, a
// *JSONError, even if it means the same: its hash would be another one.
func (p *CanonicalParser) Parse(text string, values []Value) (Row, error) {
	r, err := readCanonical(text, p.last, values)
	if err != nil { // mostly because the fields are not those of the row before
		if p.last, err = p.shapeOf(text); err == nil {
			r, err = readCanonical(text, p.last, values)
		}
		if err != nil {
			p.last = p.first
			return Row{}, err
		}
	}
	if p.form = AppendCanonical(p.form[:0], r); string(p.form) != text {
		return Row{}, notCanonical(commonPrefix(p.form, text))
	}
	return r, nil
}

// shapeOf returns the shape of the row in text.
func (p *CanonicalParser) shapeOf(text string) (*Shape, error) {
	p.names, p.key = p.names[:0], p.key[:0]
	s := newCanonicalScanner(text)
	defer s.release()
	if s.peek() != '{' {
		return nil, notCanonical(0)
	}
	if err := s.object(p.visit); err != nil {
		return nil, err
	}
	shape, ok := p.shapes[string(p.key)]
	if !ok {
		if len(p.shapes) == maxCanonicalShapes {
			clear(p.shapes)
		}
		shape = NewShape(p.inOrder())
		p.shapes[string(p.key)] = shape
	}
	return shape, nil
}

// member collects the name of one field. A key that begins with a single $ is a type mark, not a field.
func (p *CanonicalParser) member(key string, _ RawValue) error {
	name, marked := strings.CutPrefix(key, "$")
	if marked && !strings.HasPrefix(name, "$") {
		return &JSONError{Code: CodeNotCanonical, Msg: fmt.Sprintf("the key %q is no field: a name that begins with $ has one more", cut(key))}
	}
	p.names = append(p.names, name)
	p.key = append(binary.AppendUvarint(p.key, uint64(len(name))), name...)
	return nil
}

// inOrder returns copies of the names, in the order of the shape.
func (p *CanonicalParser) inOrder() []string {
	names := make([]string, 0, len(p.names))
	for _, name := range p.first.fields {
		if slices.Contains(p.names, name) {
			names = append(names, name)
		}
	}
	for _, name := range p.names {
		if _, first := p.first.Index(name); !first {
			names = append(names, strings.Clone(name))
		}
	}
	return names
}

// readCanonical reads text as a row of the shape. Of another text it returns an error, or a row whose canonical form is
// not text.
func readCanonical(text string, shape *Shape, values []Value) (Row, error) {
	s := newCanonicalScanner(text)
	defer s.release()
	r := Row{Shape: shape, Values: slices.Grow(values[:0], shape.Len())[:shape.Len()]}
	for i, position := range shape.sorted {
		s.pos++ // the opening brace or a comma
		if !strings.HasPrefix(s.rest(), string(shape.keys[i])) {
			return Row{}, notCanonical(s.pos)
		}
		s.pos += len(shape.keys[i])
		start := s.pos
		var err error
		if r.Values[position], err = s.canonicalValue(); err != nil {
			return Row{}, canonicalError(err, start)
		}
	}
	if end := strings.TrimPrefix(s.rest(), "{"); end != "}" { // an empty row has its opening brace here
		return Row{}, notCanonical(s.pos)
	}
	return r, nil
}

// newCanonicalScanner returns a scanner that lets JSON be nested as deep as in a field: around it stands the row.
func newCanonicalScanner(text string) *scanner {
	s := newScanner(text)
	s.depth = -1
	return s
}

// rest returns the text from pos on, which may lie behind the end of a text that is not canonical.
func (s *scanner) rest() string { return s.text[min(s.pos, len(s.text)):] }

func notCanonical(pos int) error {
	return &JSONError{Code: CodeNotCanonical, Offset: pos, Msg: "the text is not the canonical form of a row"}
}

// canonicalError returns the error of a value that begins at pos as a *JSONError.
func canonicalError(err error, pos int) error {
	if bad, ok := errors.AsType[*ConvertError](err); ok {
		return &JSONError{Code: bad.Code, Offset: pos, Msg: bad.Hint}
	}
	return err
}

func commonPrefix(form []byte, text string) int {
	n := 0
	for n < len(form) && n < len(text) && form[n] == text[n] {
		n++
	}
	return n
}
