package parquet

import (
	"github.com/parquet-go/parquet-go/format"

	"waymark/pipeline/row"
	"waymark/plugin/parquet/page"
)

// queue has the next values of a column that is not nested as they go into records, many at a time: column by column that is done
// several times faster than row by row.
type queue struct {
	column *column
	kind   row.Kind // of the cells
	items  []item
	head   int // the next one of items

	null  []byte // what a null is, label included
	arena []byte // the texts that are not among those of the dictionary
	odd   []odd  // the values of this queue that are no JSON
}

// item is one value.
type item struct {
	start, end uint32 // of the text, label included
	in         textAt
	cell       cell
}

// textAt says where the text of an item is.
type textAt uint8

const (
	inTexts textAt = iota // of the dictionary
	inArena
	inNull
	inOdd   // in the arena, with a flaw
	tooLong // nowhere: the value alone is over the limit of a record. The first bytes are in the arena
)

// odd is why a value is no JSON.
type odd struct {
	item int
	flaw flaw
}

// A queue is filled up to these limits, beyond the second of which is at most one value.
const (
	queueItems = 128
	queueBytes = 32 << 10
)

// newQueue returns the queue of a column whose values have this before them.
func newQueue(c *column, label []byte, kind row.Kind) *queue {
	c.texts.label = label
	return &queue{column: c, kind: kind, null: append(label[:len(label):len(label)], "null"...)}
}

// next returns the next value; nil if the column has no more. It is good until the next call.
func (q *queue) next() (*item, error) {
	if q.head == len(q.items) {
		there, err := q.column.ready()
		if err != nil || !there {
			return nil, err
		}
		q.fill()
	}
	next := &q.items[q.head]
	q.head++
	q.column.begun++
	return next, nil
}

// fill takes values of the page at hand, at least one.
func (q *queue) fill() {
	c := q.column
	q.items, q.head, q.arena, q.odd = q.items[:0], 0, q.arena[:0], q.odd[:0]
	if q.items == nil {
		q.items = make([]item, 0, queueItems)
	}
	end := min(c.page.Entries, c.at+queueItems)
	for ; c.at < end && len(q.arena) < queueBytes; c.at++ {
		if c.page.Def != nil && c.page.Def[c.at] == 0 {
			q.items = append(q.items, item{end: uint32(len(q.null)), in: inNull})
			continue
		}
		q.add(c.page, c.value)
		c.value++
	}
}

// add adds a value of the page.
func (q *queue) add(p *page.Page, value int) {
	c := q.column
	if p.Indices != nil {
		if known, why := c.texts.at(&c.leaf.leaf, p.Dictionary, p.Indices[value], q.kind); why.code == "" && known != nil {
			q.items = append(q.items, item{start: known.start, end: known.end, cell: known.cell})
			return
		}
	}
	v, start, in := p.Value(value), len(q.arena), inArena
	q.arena = append(q.arena, c.texts.label...)
	before := len(q.arena)
	if c.leaf.leaf.physical == format.ByteArray && len(v) > maxRecordBytes {
		q.arena, _ = appendText(q.arena, v[:keptBytes])
		q.items = append(q.items, item{uint32(start), uint32(len(q.arena)), tooLong, cell{}})
		return
	}
	var why flaw
	if q.arena, why = c.leaf.leaf.appendValue(q.arena, v); why.code != "" {
		q.odd, in = append(q.odd, odd{len(q.items), why}), inOdd
	}
	of := c.leaf.leaf.cell(q.kind, v, len(q.arena)-before)
	q.items = append(q.items, item{uint32(start), uint32(len(q.arena)), in, of})
}

// text returns the text of an item, label included.
func (q *queue) text(i *item) []byte {
	switch i.in {
	case inTexts:
		return q.column.texts.text[i.start:i.end]
	case inNull:
		return q.null
	}
	return q.arena[i.start:i.end]
}

// flaw returns why the item that next returned last is no JSON.
func (q *queue) flaw() flaw {
	for _, odd := range q.odd {
		if odd.item == q.head-1 {
			return odd.flaw
		}
	}
	return flaw{}
}

// endRow passes over the values of the first rows. It ends early where the column does.
func (q *queue) endRow(rows int64) error {
	for q.column.begun < rows {
		if next, err := q.next(); err != nil || next == nil {
			return err
		}
	}
	return nil
}

// more reports whether the column has a value that is not taken.
func (q *queue) more() (bool, error) {
	if q.head < len(q.items) {
		return true, nil
	}
	return q.column.ready()
}
