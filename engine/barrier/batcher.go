package barrier

import (
	"container/heap"
	"container/list"
	"time"

	"waymark/engine/plan"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// CodeTooManyGroups is the code of a row that would open one more group than a barrier holds. Stored; never rename.
const CodeTooManyGroups = "TOO_MANY_GROUPS"

const tooManyGroups = "as many groups are open as a barrier holds; let batches end earlier with a trigger, or group by fewer values"

// batcher collects rows in batches, one open batch for each group, until a trigger fires them.
type batcher struct {
	*core
	spec      *plan.Batch
	operation operation
	groups    map[string]*batch // open, by the values that make the group
	queue     list.List         // of *batch: the open ones in order of opening, which is that of their deadlines as well
	large     bySize            // the open ones that keep something
	kept      int               // bytes in all of them
	rows      int64             // tokens in open batches
	seen      int64             // tokens that ever arrived
	grown     []*batch          // by the fold at hand; some may have fired since
	key       []byte
	away      *batch // of the rows that the fold at hand turns away; nil as long as there is none
	turned    []Out  // these rows
	whole     bool   // nothing but the end fires batches: one that is cut short would pass for the whole
	cure      string // what to change if it holds too much
}

// operation is what an operation does with the rows of a batch.
type operation interface {
	// fresh gives a new batch what the craft keeps in it.
	fresh(b *batch)
	// add takes a row into the batch. It returns by how many bytes the batch keeps more than before.
	add(b *batch, a *Arrival) int
	// ready reports whether the batch fires because of what it holds.
	ready(b *batch) bool
	// make appends what comes out of the batch.
	make(b *batch, s *Settlement)
	// lose appends the losses of a batch that was made: branches of which it lets no row come out.
	lose(b *batch, s *Settlement)
	// away returns what comes out for a row that no batch can take, but for the refusal and the batch's number.
	away(a *Arrival) Out
	// order returns batches that fire together, which are in order of opening, in the order in which their rows come out.
	order(batches []*batch) []*batch
	// detach makes what the batch keeps independent of the memory of the fold.
	detach(b *batch)
	save(b *batch, w *writer)
	load(b *batch, r *reader)
}

func newBatcher(core *core, node *plan.Node) *batcher {
	g := &batcher{
		core: core, spec: node.Batch, groups: map[string]*batch{}, cure: "give it a trigger, so that it need not hold all rows until the end",
	}
	g.whole = g.spec.Rows == 0 && g.spec.After == 0 && g.spec.When == nil
	switch node.Operation {
	case plan.Sort:
		g.operation = newSorter(core, node)
	case plan.Deduplicate:
		g.operation, g.cure = &lastKeeper{core}, "a deduplicate that keeps the first row of each key holds none"
	default:
		g.operation = newAggregator(node)
	}
	return g
}

func (g *batcher) accept(at int64, in *Arrivals, s *Settlement) error {
	for i := range in.List {
		s.Members[i] = g.take(at, &in.List[i], s)
		if err := g.makeRoom(at, s); err != nil {
			return err
		}
	}
	g.settleAway(at, s)
	for _, b := range g.grown {
		if b.growing = false; b.queued != nil {
			b.detachGroup()
			g.operation.detach(b)
		}
	}
	g.grown = g.grown[:0]
	return nil
}

// take puts one row into its batch, and returns the batch's number.
func (g *batcher) take(at int64, a *Arrival, s *Settlement) uint32 {
	g.seen++
	b := g.find(at, a)
	if b == nil {
		return g.turnAway(at, a)
	}
	g.grow(b)
	b.rows++
	g.rows++
	b.latest = g.seen
	g.resize(b, g.operation.add(b, a))
	switch {
	case g.spec.Together && g.rows == int64(g.spec.Rows):
		g.fireAll(at, s)
	case !g.spec.Together && b.rows == int64(g.spec.Rows):
		g.fire(b, FiredByRows, at, s)
	case g.operation.ready(b):
		g.fire(b, FiredByWhen, at, s)
	}
	return b.number
}

// makeRoom fires the batches that keep most until the barrier keeps no more than it may.
func (g *batcher) makeRoom(at int64, s *Settlement) error {
	if g.whole && g.kept > g.memoryBudget {
		return &FullError{Cure: g.cure}
	}
	for g.kept > g.memoryBudget {
		g.fire(g.large[0], FiredByMemory, at, s)
	}
	return nil
}

// groupOf returns the values of the fields that make the row's group.
func (g *batcher) groupOf(a *Arrival) []row.Value {
	own := a.Row.Shape.Len()
	return a.Row.Values[own : own+len(g.spec.GroupBy)]
}

// find returns the open batch of the row's group, or a new one; nil if there are as many already as may be open.
func (g *batcher) find(at int64, a *Arrival) *batch {
	group := g.groupOf(a)
	g.key = g.key[:0]
	for _, value := range group {
		g.key = appendValue(g.key, value.Key())
	}
	if b, found := g.groups[string(g.key)]; found {
		return b
	}
	if len(g.groups) >= g.maxGroups {
		return nil
	}
	b := g.newBatch(g.open(), at, group)
	g.enter(b, string(g.key))
	return b
}

func (g *batcher) newBatch(number uint32, at int64, group []row.Value) *batch {
	b := &batch{number: number, opened: at, group: group, place: plan.None}
	g.operation.fresh(b)
	return b
}

// enter makes the batch an open one.
func (g *batcher) enter(b *batch, key string) {
	b.key = key
	b.queued = g.queue.PushBack(b)
	g.groups[key] = b
}

// grow notes that the batch holds memory of the fold at hand.
func (g *batcher) grow(b *batch) {
	if !b.growing {
		b.growing = true
		g.grown = append(g.grown, b)
	}
}

// resize notes that the batch keeps more or less than before.
func (g *batcher) resize(b *batch, bytes int) {
	if bytes == 0 {
		return
	}
	b.bytes += bytes
	g.kept += bytes
	if b.place == plan.None {
		heap.Push(&g.large, b)
	} else {
		heap.Fix(&g.large, b.place)
	}
}

var refusedGroup = &plugin.Rejection{Code: CodeTooManyGroups, Message: tooManyGroups}

// turnAway puts a row for whose group there is no room into the batch of those that the fold turns away. It returns the
// batch's number.
func (g *batcher) turnAway(at int64, a *Arrival) uint32 {
	if g.away == nil {
		g.away = &batch{number: g.open(), opened: at}
	}
	g.away.rows++
	out := g.operation.away(a)
	out.Batch, out.Rejected = g.away.number, refusedGroup
	g.turned = append(g.turned, out)
	return g.away.number
}

// settleAway settles the rows that the fold turned away: they come out after all others.
func (g *batcher) settleAway(at int64, s *Settlement) {
	if g.away != nil {
		s.Batches = append(s.Batches, g.away.settled(FiredByArrival, at))
		s.Outs = append(s.Outs, g.turned...)
		g.away, g.turned = nil, nil
	}
}

func (g *batcher) fire(b *batch, trigger string, at int64, s *Settlement) {
	g.close(b)
	s.Batches = append(s.Batches, b.settled(trigger, at))
	g.operation.make(b, s)
	g.operation.lose(b, s)
}

// fireAll fires the open batches together, in order of opening.
func (g *batcher) fireAll(at int64, s *Settlement) {
	for b := g.first(); b != nil; b = g.first() {
		g.fire(b, FiredByRows, at, s)
	}
}

// close takes the batch from among the open ones.
func (g *batcher) close(b *batch) {
	g.queue.Remove(b.queued)
	b.queued = nil
	delete(g.groups, b.key)
	if b.place != plan.None {
		heap.Remove(&g.large, b.place)
	}
	g.kept -= b.bytes
	g.rows -= b.rows
}

// first returns the open batch that was opened first, or nil.
func (g *batcher) first() *batch {
	if front := g.queue.Front(); front != nil {
		return front.Value.(*batch)
	}
	return nil
}

func (g *batcher) due(at int64, s *Settlement) {
	if g.spec.After == 0 {
		return
	}
	for b := g.first(); b != nil && g.deadlineOf(b) <= at; b = g.first() {
		g.fire(b, FiredByAfter, g.deadlineOf(b), s)
	}
}

func (g *batcher) deadlineOf(b *batch) int64 { return b.opened + g.spec.After.Microseconds() }

func (g *batcher) deadline() time.Time {
	if b := g.first(); b != nil && g.spec.After > 0 {
		return moment(g.deadlineOf(b))
	}
	return time.Time{}
}

// end fires all open batches. Their rows may come out in another order than that of the batches.
func (g *batcher) end(at int64, s *Settlement) {
	var batches []*batch
	for b := g.first(); b != nil; b = g.first() {
		g.close(b)
		s.Batches = append(s.Batches, b.settled(FiredByEnd, at))
		batches = append(batches, b)
	}
	for _, b := range g.operation.order(batches) {
		g.operation.make(b, s)
	}
	for _, b := range batches {
		g.operation.lose(b, s)
	}
}

func (g *batcher) held() (batches, rows int64) { return int64(g.queue.Len()), g.rows }
