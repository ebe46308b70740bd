package barrier

import (
	"cmp"
	"slices"

	"waymark/pipeline"
)

// lastKeeper lets the last row of each batch come out.
type lastKeeper struct{ *core }

func (k *lastKeeper) fresh(*batch)      {}
func (k *lastKeeper) ready(*batch) bool { return false }
func (k *lastKeeper) detach(b *batch)   { b.detachMembers() }

// add puts the row in the place of the one before. Of that one, only its open forks are kept, and only if there is a coalesce
// to hear of it when the batch fires.
func (k *lastKeeper) add(b *batch, a *Arrival) int {
	if len(b.members) == 0 {
		return b.keep(a)
	}
	before := &b.members[0]
	grown := -before.bytes()
	if k.outer != nil {
		b.passed = append(b.passed, slices.Clone(before.keys))
		grown += passedBytes(before.keys)
	}
	*before = newMember(a)
	return grown + before.bytes()
}

func (k *lastKeeper) make(b *batch, s *Settlement) {
	for i := range b.members {
		s.Outs = append(s.Outs, b.members[i].out(b))
	}
}

// lose tells of the rows before the last.
func (k *lastKeeper) lose(b *batch, s *Settlement) {
	for _, keys := range b.passed {
		k.outer.lose(keys, pipeline.BatchConsumed, s)
	}
}

func (k *lastKeeper) away(a *Arrival) Out { return keptAway(a) }

// order returns the batches in order of their last rows.
func (k *lastKeeper) order(batches []*batch) []*batch {
	return slices.SortedFunc(slices.Values(batches), func(a, b *batch) int { return cmp.Compare(a.latest, b.latest) })
}

func (k *lastKeeper) save(b *batch, w *writer) {
	w.members(b.members)
	w.count(len(b.passed))
	for _, keys := range b.passed {
		w.tokens(keys)
	}
}

func (k *lastKeeper) load(b *batch, r *reader) {
	b.members = r.members()
	r.each(func() { b.passed = append(b.passed, r.tokens()) })
}
