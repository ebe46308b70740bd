package rowview

import (
	"encoding/binary"
	"strconv"

	"waymark/landscape"
	"waymark/pipeline"
)

// token is one token of a chunk.
type token struct {
	*lane
	way       *end // nil: it did not go through the steps yet
	index     int  // of its row in the chunk
	row       int64
	batch     *int64 // into which it went at a barrier; nil if that is not recorded
	path      string // of the batch, if it fired
	refusedBy any    // the sink whose target refused it; nil for none
	completed int64
	id        any
	number    any // row, as a value
}

// each calls yield with the tokens of the chunk by row and lane, until it returns false, and reports whether it never did.
func (c *chunk) each(yield func(*token) bool) bool {
	for i := range int(c.about.Rows) {
		row := c.about.FirstRow + int64(i)
		digits := c.about.Source + ":" + strconv.FormatInt(row, 10)
		number := any(row)
		for _, l := range c.lanes {
			t := token{lane: l, way: l.wayAt(i), index: i, row: row, number: number, id: digits + l.suffix}
			if t.way == nil && l.Name != "" {
				continue
			}
			c.settle(&t)
			if !yield(&t) {
				return false
			}
		}
	}
	return true
}

// wayAt returns the way of a row's token; nil if it has none.
func (l *lane) wayAt(i int) *end {
	switch {
	case l.passage == nil:
		return nil
	case l.passage.CodeBytes == 1 && i < len(l.passage.WayCodes):
		return l.ways[int64(l.passage.WayCodes[i])]
	case l.passage.CodeBytes == 2 && 2*i+1 < len(l.passage.WayCodes):
		return l.ways[int64(binary.BigEndian.Uint16(l.passage.WayCodes[2*i:]))]
	default:
		return nil
	}
}

// settle finds out how a token ended.
func (c *chunk) settle(t *token) {
	w := t.way
	if w == nil {
		return
	}
	if e := w.effect; e != nil && e.Refused > 0 {
		if _, ok := c.errors[place{t.Lane.Lane, e.Sink}][t.row]; ok {
			t.refusedBy = e.Sink
		}
	}
	switch {
	case w.barrier() != "":
		t.batch = w.batchOf(t.index)
		if t.batch != nil {
			t.path = c.fired[w.barrier()].paths[*t.batch]
		}
		t.completed = number(t.path != "")
	case !w.toSink():
		t.completed = 1
	default:
		t.completed = number(w.effect != nil && w.effect.State == landscape.Finalized)
	}
}

// batchOf returns the batch into which a row's token went.
func (e *end) batchOf(i int) *int64 {
	slice, at := i/landscape.SliceRows, 4*(i%landscape.SliceRows)
	if slice >= len(e.members) || at+4 > len(e.members[slice]) {
		return nil
	}
	batch := int64(binary.BigEndian.Uint32(e.members[slice][at:]))
	return &batch
}

func number(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// joined reports whether the token's batch was merged.
func (t *token) joined() bool { return t.path == string(pipeline.Coalesced) }
