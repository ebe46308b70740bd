package barrier

func (g *batcher) save(w *writer) {
	w.signed(g.seen)
	w.count(g.queue.Len())
	for e := g.queue.Front(); e != nil; e = e.Next() {
		b := e.Value.(*batch)
		w.number(uint64(b.number))
		w.signed(b.rows)
		w.signed(b.opened)
		w.signed(b.latest)
		w.values(b.group)
		g.operation.save(b, w)
	}
}

func (g *batcher) load(r *reader) {
	g.seen = r.signed()
	r.each(func() {
		number := uint32(r.natural(int64(g.number)))
		rows, opened, latest := r.signed(), r.signed(), r.signed()
		b := g.newBatch(number, opened, r.values(len(g.spec.GroupBy)))
		b.rows, b.latest, b.detached = rows, latest, true
		g.operation.load(b, r)
		if r.err == nil {
			g.readmit(b, r)
		}
	})
}

// readmit makes a restored batch an open one.
func (g *batcher) readmit(b *batch, r *reader) {
	key := ""
	for _, value := range b.group {
		key += string(appendValue(nil, value.Key()))
	}
	last := g.queue.Back()
	if _, twice := g.groups[key]; twice || last != nil && last.Value.(*batch).number >= b.number {
		r.failf("batch %d is out of order", b.number)
		return
	}
	g.enter(b, key)
	g.rows += b.rows
	g.resize(b, b.size())
}
