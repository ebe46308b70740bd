package barrier

import (
	"cmp"
	"math"
	"slices"

	"waymark/pipeline"
)

// How a state says what is known of a branch.
const (
	stateOutstanding = iota
	stateArrived
	stateLost
)

func (h *heldCoalesce) save(w *writer) {
	w.count(h.queue.Len())
	for front := h.queue.Front(); front != nil; front = front.Next() {
		e := front.Value.(*entry)
		w.number(uint64(e.number))
		w.tokens(e.keys)
		w.signed(e.opened)
		w.bool(e.coalescer.decided)
		for _, state := range e.coalescer.states {
			state.save(w)
		}
		w.count(len(e.came))
		for _, c := range e.came {
			w.count(c.branch)
			w.token(c.token)
			w.signed(c.at)
			w.row(e.coalescer.rows[c.branch])
		}
	}
}

func (b branchState) save(w *writer) {
	switch {
	case b.arrived:
		w.number(stateArrived)
	case b.lost != "":
		w.number(stateLost)
		w.text(string(b.lost))
	default:
		w.number(stateOutstanding)
	}
}

func (b *branchState) load(r *reader) {
	switch r.natural(stateLost) {
	case stateArrived:
		b.arrived = true
	case stateLost:
		if b.lost = pipeline.Path(r.text()); b.lost == "" {
			r.failf("a branch is lost for no reason")
		}
	}
}

func (h *heldCoalesce) load(r *reader) {
	var waiting []*entry
	r.each(func() {
		e := h.newEntry(uint32(r.natural(math.MaxUint32)), 0, r.tokens())
		e.opened = r.signed()
		e.coalescer.decided = r.bool()
		for b := range e.coalescer.states {
			e.coalescer.states[b].load(r)
		}
		r.each(func() { h.loadComer(e, r) })
		if r.err == nil {
			h.readmit(e, r)
		}
		if len(e.came) > 0 {
			waiting = append(waiting, e)
		}
	})
	if r.err == nil && h.spec.Timeout > 0 {
		slices.SortStableFunc(waiting, func(a, b *entry) int { return cmp.Compare(a.came[0].at, b.came[0].at) })
		for _, e := range waiting {
			e.waiting = h.waiting.PushBack(e)
		}
	}
}

func (h *heldCoalesce) loadComer(e *entry, r *reader) {
	branch := int(r.natural(int64(len(h.spec.Branches) - 1)))
	c := comer{branch: branch, token: r.token(), at: r.signed(), detached: true}
	in := r.row()
	if e.coalescer.decided || !e.coalescer.states[branch].arrived || slices.Contains(e.coalescer.decision.Arrived, branch) {
		r.failf("a row waits that did not come, or twice")
		return
	}
	c.bytes = memberBytes + valueBytes(in.Values)
	e.came = append(e.came, c)
	e.coalescer.rows[branch] = in
	e.coalescer.decision.Arrived = append(e.coalescer.decision.Arrived, branch)
}

// readmit takes a restored entry in.
func (h *heldCoalesce) readmit(e *entry, r *reader) {
	if arrived, _, _ := e.coalescer.count(); !e.coalescer.decided && arrived != len(e.came) {
		r.failf("batch %d lacks a row that came", e.number)
		return
	}
	last := h.queue.Back()
	if len(e.keys) == 0 || last != nil && last.Value.(*entry).number >= e.number || e.number > h.number {
		r.failf("batch %d is out of order", e.number)
		return
	}
	if _, twice := h.entries[e.keys[len(e.keys)-1]]; twice {
		r.failf("batch %d is about the same row as another", e.number)
		return
	}
	h.enter(e)
	h.rows += int64(len(e.came))
	for _, c := range e.came {
		h.kept += c.bytes
	}
}
