package barrier

import (
	"cmp"
	"container/list"
	"fmt"
	"slices"
	"time"

	"waymark/engine/plan"
	"waymark/pipeline"
)

// heldCoalesce is a coalesce whose branches come in different passes. It holds what came for each fork parent until that is
// decided, and remembers the decision until every branch is accounted for.
type heldCoalesce struct {
	*core
	spec    *plan.Coalescing
	merger  *merger
	entries map[Token]*entry // by fork parent
	queue   list.List        // of *entry: all, in order of opening
	waiting list.List        // of *entry: the undecided ones to which a branch came, in order of the first
	touched []*entry         // by the fold at hand
	pending int64            // undecided entries
	rows    int64            // tokens in them
	kept    int              // bytes of their rows
}

// entry is what is known of the branches of one fork parent.
type entry struct {
	number    uint32
	keys      []Token // the open forks, outermost first; the last is the fork parent
	opened    int64   // µs
	coalescer *Coalescer
	came      []comer // in order of arrival, as long as it is undecided
	queued    *list.Element
	waiting   *list.Element // nil if it does not wait for the timeout
	touched   bool
}

// comer is a token that came in time.
type comer struct {
	branch   int
	token    Token
	at       int64
	bytes    int  // that its row takes
	detached bool // its row has memory of its own
}

func newHeldCoalesce(core *core, spec *plan.Coalescing) *heldCoalesce {
	return &heldCoalesce{core: core, spec: spec, merger: newMerger(spec), entries: map[Token]*entry{}}
}

func (h *heldCoalesce) accept(at int64, in *Arrivals, s *Settlement) error {
	for i := range in.List {
		a := &in.List[i]
		e, err := h.find(at, a.Keys, a.Branch)
		if err != nil {
			return err
		}
		s.Members[i] = h.arrive(e, at, a, s)
		h.forget(e)
	}
	for _, loss := range in.Losses {
		e, err := h.find(at, loss.Keys, loss.Branch)
		if err != nil {
			return err
		}
		if e.coalescer.Lose(loss.Branch, loss.Reason) {
			h.settle(e, at, s)
		}
		h.forget(e)
	}
	h.detachRows()
	if h.kept > h.memoryBudget {
		return &FullError{Cure: "branches wait too long for each other; give it a timeout, or the barriers in its branches a trigger"}
	}
	return nil
}

// find returns the entry of the fork parent, and makes one if there is none. The error says that nothing can happen to this
// branch.
func (h *heldCoalesce) find(at int64, keys []Token, branch int) (*entry, error) {
	if len(keys) == 0 || branch < 0 || branch >= len(h.spec.Branches) {
		return nil, fmt.Errorf("a token came to the coalesce by no branch that it expects (branch %d, %d open forks)", branch, len(keys))
	}
	key := keys[len(keys)-1]
	e, found := h.entries[key]
	switch {
	case !found:
		e = h.newEntry(h.open(), at, slices.Clone(keys))
		h.enter(e)
	case !e.coalescer.states[branch].outstanding():
		return nil, fmt.Errorf("the branch %q of row %d in lane %d came twice", h.spec.Branches[branch], key.Row, key.Lane)
	}
	return e, nil
}

func (h *heldCoalesce) newEntry(number uint32, at int64, keys []Token) *entry {
	return &entry{number: number, keys: keys, opened: at, coalescer: newCoalescer(h.spec, h.merger)}
}

func (h *heldCoalesce) enter(e *entry) {
	e.queued = h.queue.PushBack(e)
	h.entries[e.keys[len(e.keys)-1]] = e
	if !e.coalescer.decided {
		h.pending++
	}
}

// arrive takes a branch, and returns the number of its batch.
func (h *heldCoalesce) arrive(e *entry, at int64, a *Arrival, s *Settlement) uint32 {
	if e.coalescer.decided {
		e.coalescer.Arrive(a.Branch, a.Row)
		late := Batch{Number: h.open(), Trigger: FiredByArrival, Path: pipeline.BranchNotNeeded, Rows: 1, Opened: moment(at), Fired: moment(at), Of: e.number}
		s.Batches = append(s.Batches, late)
		return late.Number
	}
	h.note(e, comer{branch: a.Branch, token: a.Token, at: at, bytes: memberBytes + valueBytes(a.Row.Values)})
	if e.coalescer.Arrive(a.Branch, a.Row) {
		h.settle(e, at, s)
	} else if !e.touched {
		e.touched = true
		h.touched = append(h.touched, e)
	}
	return e.number
}

// note adds a token that came in time.
func (h *heldCoalesce) note(e *entry, c comer) {
	e.came = append(e.came, c)
	h.rows++
	h.kept += c.bytes
	if e.waiting == nil && h.spec.Timeout > 0 {
		e.waiting = h.waiting.PushBack(e)
	}
}

// settle ends an entry that was decided at this moment, as far as the row is concerned.
func (h *heldCoalesce) settle(e *entry, at int64, s *Settlement) {
	decision := e.coalescer.Decision()
	merge := &Merge{Decision: decision, Key: e.keys[len(e.keys)-1], HasOut: !decision.Nothing}
	for _, c := range e.came {
		merge.Arrived = append(merge.Arrived, Arrived{Branch: h.spec.Branches[c.branch], Token: c.token, At: moment(c.at)})
	}
	if len(e.came) > 0 {
		merge.Wait = time.Duration(at-e.came[0].at) * time.Microsecond
	}
	s.Batches = append(s.Batches, Batch{
		Number: e.number, Trigger: decision.FiredBy, Path: pipeline.Coalesced, Rows: int64(len(e.came)), Opened: moment(e.opened), Fired: moment(at), Merge: merge,
	})
	outer := e.keys[:len(e.keys)-1]
	if merge.HasOut {
		s.Outs = append(s.Outs, Out{Batch: e.number, Keys: outer, Row: decision.Row, Rejected: decision.Rejected})
	} else {
		h.outer.lose(outer, pipeline.ForkParent, s) // that is how the token ended of which nothing came
	}
	h.release(e)
}

// release drops what a decided entry needs no more.
func (h *heldCoalesce) release(e *entry) {
	h.pending--
	h.rows -= int64(len(e.came))
	for _, c := range e.came {
		h.kept -= c.bytes
	}
	if e.waiting != nil {
		h.waiting.Remove(e.waiting)
		e.waiting = nil
	}
	e.came, e.coalescer.rows, e.coalescer.decision = nil, nil, Decision{}
}

// forget drops an entry of which every branch is accounted for.
func (h *heldCoalesce) forget(e *entry) {
	if e.coalescer.decided && e.coalescer.complete() {
		h.queue.Remove(e.queued)
		delete(h.entries, e.keys[len(e.keys)-1])
	}
}

// detachRows gives the rows that wait beyond the fold memory of their own.
func (h *heldCoalesce) detachRows() {
	for _, e := range h.touched {
		e.touched = false
		for i := range e.came {
			if c := &e.came[i]; !c.detached {
				c.detached = true
				e.coalescer.rows[c.branch].Values = detachValues(e.coalescer.rows[c.branch].Values)
			}
		}
	}
	h.touched = h.touched[:0]
}

func (h *heldCoalesce) deadlineOf(e *entry) int64 {
	return e.came[0].at + h.spec.Timeout.Microseconds()
}

// due expires entries in order of their deadlines, those with the same one in order of opening.
func (h *heldCoalesce) due(at int64, s *Settlement) {
	var expired []*entry
	for front := h.waiting.Front(); front != nil; front = front.Next() {
		e := front.Value.(*entry)
		if h.deadlineOf(e) > at {
			break
		}
		expired = append(expired, e)
	}
	slices.SortFunc(expired, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(h.deadlineOf(a), h.deadlineOf(b)), cmp.Compare(a.number, b.number))
	})
	for _, e := range expired {
		deadline := h.deadlineOf(e)
		e.coalescer.Expire()
		h.settle(e, deadline, s)
	}
}

func (h *heldCoalesce) deadline() time.Time {
	if front := h.waiting.Front(); front != nil {
		return moment(h.deadlineOf(front.Value.(*entry)))
	}
	return time.Time{}
}

// end decides all entries with what came.
func (h *heldCoalesce) end(at int64, s *Settlement) {
	for e := h.queue.Front(); e != nil; e = e.Next() {
		if waiting := e.Value.(*entry); waiting.coalescer.Finish() {
			h.settle(waiting, at, s)
		}
	}
}

func (h *heldCoalesce) held() (batches, rows int64) { return h.pending, h.rows }
