package firsts

import (
	"iter"
	"math/bits"
)

// entry is a value and its token; without a value if the token is 0.
type entry struct {
	key
	token uint64
}

// table is a hash table with linear probing. The zero table is empty.
type table struct {
	slots []entry // a power of two of them
	used  int
}

// firstSlots is how large a table is at first.
const firstSlots = 1 << 10

// home is the slot at which the search for a key begins. It grows with the key, so that the slots are nearly sorted.
func (t *table) home(k key) int {
	return int(k.hi >> (64 - bits.Len(uint(len(t.slots)-1))))
}

func (t *table) find(k key) uint64 {
	if t.used == 0 {
		return 0
	}
	return t.slots[t.slot(k)].token
}

// slot returns where the key is, or belongs.
func (t *table) slot(k key) int {
	for i := t.home(k); ; i = (i + 1) & (len(t.slots) - 1) {
		if s := &t.slots[i]; s.token == 0 || s.key == k {
			return i
		}
	}
}

// put adds a key, or gives it another token.
func (t *table) put(k key, token uint64) {
	t.reserve(1)
	s := &t.slots[t.slot(k)]
	if s.token == 0 {
		t.used++
	}
	*s = entry{k, token}
}

// reserve makes room for so many more keys. Keys that come in their order, as they do from another table, are best given room at
// once: else they crowd at one end of a table that is small yet.
func (t *table) reserve(more int) {
	for 4*(t.used+more) > 3*len(t.slots) {
		t.grow()
	}
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]entry, max(2*len(old), firstSlots))
	for _, e := range old {
		if e.token != 0 {
			t.slots[t.slot(e.key)] = e
		}
	}
}

// clear empties the table and keeps its memory.
func (t *table) clear() {
	clear(t.slots)
	t.used = 0
}

// all yields the entries in no particular order.
func (t *table) all() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for _, e := range t.slots {
			if e.token != 0 && !yield(e) {
				return
			}
		}
	}
}

// sorted yields the entries by key.
func (t *table) sorted() iter.Seq2[entry, error] {
	list, wrapped := make([]entry, 0, t.used), []entry(nil)
	for i, e := range t.slots {
		switch {
		case e.token == 0:
		case t.home(e.key) > i: // there was no room at the end
			wrapped = append(wrapped, e)
		default:
			list = append(list, e)
		}
	}
	list = append(list, wrapped...)
	for i := 1; i < len(list); i++ { // each is near its place
		e, at := list[i], i
		for ; at > 0 && e.less(list[at-1].key); at-- {
			list[at] = list[at-1]
		}
		list[at] = e
	}
	return func(yield func(entry, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}
