package barrier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"waymark/pipeline/row"
)

// reader reads what a writer wrote. The first fault ends the reading: what follows is zero. Whatever the bytes are, the values
// and rows it gives keep the contracts of package row. Nothing in them shares memory with data.
type reader struct {
	data   []byte
	shapes []*row.Shape
	err    error
}

var errShort = errors.New("it ends too early")

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.data = nil
}

func (r *reader) failf(format string, args ...any) { r.fail(fmt.Errorf(format, args...)) }

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		r.fail(errShort)
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *reader) signed() int64 {
	n, size := binary.Varint(r.data)
	if size <= 0 {
		r.fail(errShort)
		return 0
	}
	r.data = r.data[size:]
	return n
}

// count reads how many things follow, each of which takes at least a byte.
func (r *reader) count() int {
	n := r.number()
	if n > uint64(len(r.data)) {
		r.fail(errShort)
		return 0
	}
	return int(n)
}

// each reads a count, and calls read as often, as long as nothing is wrong.
func (r *reader) each(read func()) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		read()
	}
}

// natural reads a number from 0 to the limit.
func (r *reader) natural(limit int64) int64 {
	n := r.number()
	if n > uint64(limit) {
		r.failf("the number %d is out of range", n)
		return 0
	}
	return int64(n)
}

func (r *reader) take(n int) []byte {
	if n > len(r.data) {
		r.fail(errShort)
		return make([]byte, n)
	}
	taken := r.data[:n]
	r.data = r.data[n:]
	return taken
}

func (r *reader) text() string {
	text := string(r.take(r.count()))
	if !utf8.ValidString(text) {
		r.failf("a text is not valid UTF-8")
	}
	return text
}

func (r *reader) bits() float64 { return math.Float64frombits(binary.BigEndian.Uint64(r.take(8))) }

func (r *reader) bool() bool {
	v := r.value()
	if v.Kind() != row.Bool {
		r.failf("a bool is a %s", v.Kind())
	}
	return v.Bool()
}

func (r *reader) token() Token {
	return Token{Lane: int(r.natural(math.MaxInt32)), Row: r.signed()}
}

func (r *reader) tokens() []Token {
	var tokens []Token
	r.each(func() { tokens = append(tokens, r.token()) })
	return tokens
}

func (r *reader) row() row.Row {
	n := r.number()
	if n >= uint64(len(r.shapes)) {
		r.failf("it has no shape %d", n)
		return row.Row{Shape: noFields}
	}
	shape := r.shapes[n]
	return row.Row{Shape: shape, Values: r.values(shape.Len())}
}

func (r *reader) values(n int) []row.Value {
	if n > len(r.data) {
		r.fail(errShort)
		return nil
	}
	values := make([]row.Value, n)
	for i := range values {
		values[i] = r.value()
	}
	return values
}

func (r *reader) list() []row.Value { return r.values(r.count()) }

func (r *reader) members() []member {
	var members []member
	r.each(func() {
		members = append(members, member{token: r.token(), keys: r.tokens(), row: r.row(), detached: true})
	})
	return members
}

// table reads the table of shapes.
func (r *reader) table() {
	r.each(func() {
		var names []string
		r.each(func() { names = append(names, r.text()) })
		if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) < len(names) {
			r.failf("a shape has a field twice")
			return
		}
		r.shapes = append(r.shapes, row.NewShape(names))
	})
}
