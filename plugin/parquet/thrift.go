package parquet

import (
	"encoding/binary"
	"errors"
)

// What thrift structures may be. A decoder makes memory for the lists that a structure claims to hold, and goes as deep as it
// is nested, so that both are looked at before.
const (
	maxThriftDepth = 32
	freeElements   = 16 << 10 // of lists, however short the structure
	elementBytes   = 20       // how long the elements of lists are at least on average, beyond those
)

var (
	errThriftShort = errors.New("ends too early")
	errThriftBad   = errors.New("is malformed")
	errThriftLarge = errors.New("has more parts, or deeper ones, than are read")
)

// thriftSize returns the size of the structure at the beginning of b, in the compact protocol. The error is errThriftShort if b
// ends before the structure does, errThriftBad if it is none, and errThriftLarge if it is none that is safe to
// decode. within is how many bytes the structure may have, which may be more than b has.
func thriftSize(b []byte, within int) (int, error) {
	w := thriftWalk{b: b, elements: freeElements + within/elementBytes, within: within}
	w.structure(0)
	return w.at, w.err
}

// thriftWalk goes over a structure. After an error it stands still.
type thriftWalk struct {
	b        []byte
	at       int
	within   int
	elements int // that lists may have yet
	err      error
}

func (w *thriftWalk) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *thriftWalk) byte() byte {
	if w.err != nil || w.at >= len(w.b) {
		w.fail(errThriftShort)
		return 0
	}
	w.at++
	return w.b[w.at-1]
}

func (w *thriftWalk) uvarint() uint64 {
	if w.err != nil {
		return 0
	}
	n, size := binary.Uvarint(w.b[w.at:])
	switch {
	case size > 0:
		w.at += size
	case size < 0:
		w.fail(errThriftBad)
	default:
		w.fail(errThriftShort)
	}
	return n
}

func (w *thriftWalk) skip(n uint64) {
	switch {
	case w.err != nil:
	case n > uint64(w.within):
		w.fail(errThriftBad)
	case n > uint64(len(w.b)-w.at):
		w.fail(errThriftShort)
	default:
		w.at += int(n)
	}
}

func (w *thriftWalk) structure(depth int) {
	if depth > maxThriftDepth {
		w.fail(errThriftLarge)
	}
	for w.err == nil {
		head := w.byte()
		if head == 0 {
			return
		}
		if head>>4 == 0 {
			w.uvarint() // the field's number
		}
		if kind := head & 0xf; kind > 2 { // a bool field is its own value
			w.value(kind, depth)
		}
	}
}

// value goes over the value of a field or an element of a list.
func (w *thriftWalk) value(kind byte, depth int) {
	switch kind {
	case 1, 2, 3: // bool, byte
		w.byte()
	case 4, 5, 6: // integers
		w.uvarint()
	case 7: // double
		w.skip(8)
	case 8: // text
		w.skip(w.uvarint())
	case 9, 10: // list, set
		w.list(depth)
	case 11:
		w.mapping(depth)
	case 12:
		w.structure(depth + 1)
	default:
		w.fail(errThriftBad)
	}
}

func (w *thriftWalk) list(depth int) {
	head := w.byte()
	size := uint64(head >> 4)
	if size == 15 {
		size = w.uvarint()
	}
	w.repeat(size, depth, head&0xf)
}

func (w *thriftWalk) mapping(depth int) {
	size := w.uvarint()
	if size == 0 {
		return
	}
	kinds := w.byte()
	w.repeat(size, depth, kinds>>4, kinds&0xf)
}

// repeat goes over so many groups of values of these kinds.
func (w *thriftWalk) repeat(size uint64, depth int, kinds ...byte) {
	switch {
	case size > uint64(w.within):
		w.fail(errThriftBad) // no element has less than a byte
	case depth > maxThriftDepth || size > uint64(w.elements):
		w.fail(errThriftLarge)
	}
	for ; size > 0 && w.err == nil; size-- {
		w.elements--
		for _, kind := range kinds {
			w.value(kind, depth+1)
		}
	}
}
