package barrier

import (
	"cmp"
	"slices"

	"waymark/pipeline"
	"waymark/plugin"
)

// lastKeeper lets the last row of each batch come out.
type lastKeeper struct{ *core }

func (k *lastKeeper) fresh(*batch)             {}
func (k *lastKeeper) ready(*batch) bool        { return false }
func (k *lastKeeper) own(b *batch)             { b.ownMembers() }
func (k *lastKeeper) save(b *batch, w *writer) { w.members(b.members) }
func (k *lastKeeper) load(b *batch, r *reader) { b.members = r.members() }

func (k *lastKeeper) add(b *batch, a *Arrival, s *Settlement) int {
	if len(b.members) == 0 {
		return b.keep(a)
	}
	before := &b.members[0]
	k.outer.lose(before.keys, pipeline.BatchConsumed, s)
	grown := -before.bytes()
	*before = newMember(a)
	return grown + before.bytes()
}

func (k *lastKeeper) make(b *batch, s *Settlement) {
	for i := range b.members {
		s.Outs = append(s.Outs, b.members[i].out(b))
	}
}

func (k *lastKeeper) refuse(b *batch, refused *plugin.Rejection, s *Settlement) {
	refuseMembers(b, refused, s)
}

// order puts the batches in order of their last rows.
func (k *lastKeeper) order(batches []*batch) {
	slices.SortFunc(batches, func(a, b *batch) int { return cmp.Compare(a.latest, b.latest) })
}
