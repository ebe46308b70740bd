package barrier

import (
	"slices"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// sorter lets the rows of a batch come out in order, or the first of them.
type sorter struct {
	*core
	spec   *plan.Batch
	fields *locator
}

func newSorter(core *core, node *plan.Node) *sorter {
	return &sorter{core: core, spec: node.Batch, fields: newLocator(orderFields(node))}
}

func (o *sorter) fresh(*batch)             {}
func (o *sorter) ready(*batch) bool        { return false }
func (o *sorter) detach(b *batch)          { b.detachMembers() }
func (o *sorter) save(b *batch, w *writer) { w.members(b.members) }

func (o *sorter) load(b *batch, r *reader) { b.members = r.members() }

// slack is how many more rows than the top ones a batch keeps at least before they are compared.
const slack = 64

func (o *sorter) add(b *batch, a *Arrival) int {
	grown := b.keep(a)
	if o.outer == nil && o.spec.Top > 0 && len(b.members) >= 2*o.spec.Top+slack {
		grown -= o.prune(b)
	}
	return grown
}

// prune drops the rows that can no longer be among the top ones, where no coalesce has to be told which ones they were. It
// returns how many bytes they took. The rest is in order after it; since sorting is stable, what comes later is still behind
// its equals.
func (o *sorter) prune(b *batch) int {
	o.sort(b.members)
	bytes := 0
	for i := o.spec.Top; i < len(b.members); i++ {
		bytes += b.members[i].bytes()
	}
	clear(b.members[o.spec.Top:])
	b.members = b.members[:o.spec.Top]
	return bytes
}

func (o *sorter) make(b *batch, s *Settlement) {
	o.sort(b.members)
	for i := range b.members[:o.top(b)] {
		s.Outs = append(s.Outs, b.members[i].out(b))
	}
}

// lose tells of the rows behind the top ones, in their order.
func (o *sorter) lose(b *batch, s *Settlement) {
	for _, m := range b.members[o.top(b):] {
		o.outer.lose(m.keys, pipeline.BatchConsumed, s)
	}
}

// top returns how many rows of the batch come out.
func (o *sorter) top(b *batch) int {
	if o.spec.Top == 0 {
		return len(b.members)
	}
	return min(o.spec.Top, len(b.members))
}

func (o *sorter) order(batches []*batch) []*batch { return batches }

func (o *sorter) away(a *Arrival) Out { return keptAway(a) }

// keptAway lets a row that no batch can take come out as it came.
func keptAway(a *Arrival) Out {
	m := newMember(a)
	return Out{Parent: &a.Token, Keys: m.keys, Row: m.row}
}

// ranked is a row with the values that decide its place.
type ranked struct {
	member
	by []row.Value
}

func (o *sorter) sort(members []member) {
	list := make([]ranked, len(members))
	values := make([]row.Value, 0, len(members)*len(o.spec.By))
	for i, m := range members {
		start := len(values)
		for _, position := range o.fields.positions(m.row.Shape) {
			values = append(values, valueAt(m.row, position))
		}
		list[i] = ranked{m, values[start:]}
	}
	slices.SortStableFunc(list, o.compare)
	for i := range list {
		members[i] = list[i].member
	}
}

func (o *sorter) compare(a, b ranked) int {
	for i, order := range o.spec.By {
		if c := row.Order(a.by[i], b.by[i]); c != 0 {
			if order.Descending {
				return -c
			}
			return c
		}
	}
	return 0
}
