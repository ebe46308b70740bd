package jsonl

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
)

// maxShapes bounds how many layouts a parser remembers. A source with more of them makes some shapes twice.
const maxShapes = 1024

// parser parses lines. Declared fields come first and are null if the line lacks them; other keys follow in the
// order of the line.
type parser struct {
	schema *file.Schema
	index  map[string]int
	kinds  map[string]row.Kind   // of keys that are not declared, where the source knows more than a literal says
	shapes map[string]*row.Shape // by the keys that are not declared, each after its length
	visit  func(string, row.RawValue) error

	values []row.Value // of the line at hand
	seen   []bool      // which declared fields it has
	others []string    // its keys that are not declared
	key    []byte      // of its shape in shapes
	order  []int       // of its declared fields

	usual  []int    // order of the line that was scanned before
	labels []string // how a line in this order, and no other keys, has the keys
	steady bool     // the line is probably like that
	known  func(int, row.RawValue) error
	layout cellLayout
}

func newParser(r *Records) *parser {
	p := &parser{
		schema: &r.schema, index: r.index, seen: make([]bool, len(r.schema.Fields)),
		shapes: make(map[string]*row.Shape),
	}
	p.visit = p.member
	p.known = func(label int, raw row.RawValue) error { return p.declared(p.usual[label], raw) }
	return p
}

// Parse parses one line. Strings without escapes share its memory.
func (p *parser) Parse(text string, values []row.Value) (row.Row, error) {
	p.begin(values)
	if err := p.scan(text); err != nil {
		if rejection, ok := errors.AsType[*plugin.Rejection](err); ok {
			return row.Row{}, rejection
		}
		return row.Row{}, file.RejectError("", err)
	}
	for i, seen := range p.seen {
		if f := &p.schema.Fields[i]; !seen && !f.Optional {
			return row.Row{}, f.Missing("the key is missing")
		}
	}
	return row.Row{Shape: p.shape(), Values: p.values}, nil
}

// begin makes the parser ready for a line.
func (p *parser) begin(values []row.Value) {
	declared := len(p.schema.Fields)
	p.values = slices.Grow(values[:0], declared)[:declared]
	p.others, p.order = p.others[:0], p.order[:0]
	clear(p.values)
	clear(p.seen)
}

// scan takes all members of a line. Lines that are written by programs have their keys in one order, so that a line like the two
// before it is scanned without looking any key up.
func (p *parser) scan(text string) error {
	if p.steady {
		known, err := row.ScanKeyed(text, p.labels, p.known)
		if known {
			return err
		}
		p.steady = false
		p.begin(p.values)
	}
	err := row.ScanObject(text, p.visit)
	if err == nil && len(p.others) == 0 {
		p.learn()
	}
	return err
}

// learn takes note of the order of the line at hand.
func (p *parser) learn() {
	if p.steady = slices.Equal(p.order, p.usual); p.steady {
		return
	}
	p.usual, p.labels = append(p.usual[:0], p.order...), p.labels[:0]
	for _, i := range p.usual {
		p.labels = append(p.labels, p.schema.Fields[i].Label)
	}
}

// member takes one member of the object.
func (p *parser) member(key string, raw row.RawValue) error {
	i, declared := p.index[key]
	if !declared {
		return p.other(key, raw)
	}
	p.order = append(p.order, i)
	return p.declared(i, raw)
}

// declared takes the value of a declared field.
func (p *parser) declared(i int, raw row.RawValue) error {
	f := &p.schema.Fields[i]
	p.seen[i] = true
	if len(raw.Literal) > file.MaxCellBytes {
		return file.Reject(file.CodeCellTooLarge, f.Name, "the value has %d bytes, more than %d", len(raw.Literal), file.MaxCellBytes)
	}
	if raw.Kind == row.Null {
		if !f.Optional {
			return f.Missing("the value is null")
		}
		return nil
	}
	value, err := raw.As(f.Kind)
	if err != nil {
		return file.RejectError(f.Name, err)
	}
	checked, rejection := f.Check(value)
	if rejection != nil {
		return rejection
	}
	p.values[i] = checked
	return nil
}

// other takes a member that is not declared. Its key may be anything, so that it is quoted in the message and no Field.
func (p *parser) other(key string, raw row.RawValue) error {
	switch f := p.schema.Named(key); {
	case !p.schema.Open:
		return file.Reject(codeUnknownField, "", "the key %s is not declared; declare it, or set schema.mode: flexible", file.Excerpt(key))
	case f != nil:
		return file.Reject(codeUnknownField, "", "the key %s has the name of the field that is read from %s", file.Excerpt(key), file.Excerpt(f.From))
	case len(p.values) == file.MaxColumns:
		return file.Reject(file.CodeFieldCount, "", "the object has more than %d keys", file.MaxColumns)
	case len(key)+len(raw.Literal) > file.MaxCellBytes:
		return file.Reject(file.CodeCellTooLarge, "", "the key %s and its value have more than %d bytes", file.Excerpt(key), file.MaxCellBytes)
	}
	value, err := p.natural(key, raw)
	if err != nil {
		return file.RejectError("", err)
	}
	p.values = append(p.values, value)
	p.others = append(p.others, key)
	return nil
}

// natural returns the value of a member that is not declared.
func (p *parser) natural(key string, raw row.RawValue) (row.Value, error) {
	if kind, known := p.kinds[key]; known {
		return raw.As(kind)
	}
	return raw.Natural()
}

// Pieces returns where the values of a line are. It is plugin.Divided's.
func (p *parser) Pieces(text string) []plugin.Piece {
	return plugin.ObjectPieces(text, func(key string) string {
		if i, declared := p.index[key]; declared {
			return p.schema.Fields[i].Name
		}
		return key
	})
}

// shape returns the shape of the line at hand; lines with the same keys share one.
func (p *parser) shape() *row.Shape {
	p.key = p.key[:0]
	for _, name := range p.others {
		p.key = append(binary.AppendUvarint(p.key, uint64(len(name))), name...)
	}
	if shape, ok := p.shapes[string(p.key)]; ok {
		return shape
	}
	if len(p.shapes) == maxShapes {
		clear(p.shapes)
	}
	names := p.schema.Names(p.others)
	for i := range names {
		names[i] = strings.Clone(names[i])
	}
	shape := row.NewShape(names)
	p.shapes[string(p.key)] = shape
	return shape
}
