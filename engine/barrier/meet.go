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

// meeting is a coalesce whose branches come in different passes. It holds what came for each fork parent until that is
// decided, and remembers the decision until every branch is accounted for.
type meeting struct {
	*core
	spec    *plan.Join
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
	number  uint32
	keys    []Token // the open forks, outermost first; the last is the fork parent
	opened  int64   // µs
	join    *Join
	came    []comer // in order of arrival, as long as it is undecided
	queued  *list.Element
	waiting *list.Element // nil if it does not wait for the timeout
	touched bool
}

// comer is a token that came in time.
type comer struct {
	branch int
	token  Token
	at     int64
	bytes  int  // that its row takes
	owned  bool // its row has memory of its own
}

func newMeeting(core *core, spec *plan.Join) *meeting {
	return &meeting{core: core, spec: spec, merger: newMerger(spec), entries: map[Token]*entry{}}
}

func (m *meeting) accept(at int64, in *Arrivals, s *Settlement) error {
	for i := range in.List {
		a := &in.List[i]
		e, err := m.find(at, a.Keys, a.Branch)
		if err != nil {
			return err
		}
		s.Members[i] = m.arrive(e, at, a, s)
		m.forget(e)
	}
	for _, loss := range in.Losses {
		e, err := m.find(at, loss.Keys, loss.Branch)
		if err != nil {
			return err
		}
		if e.join.Lose(loss.Branch, loss.Reason) {
			m.settle(e, at, s)
		}
		m.forget(e)
	}
	m.ownRows()
	if m.kept > m.memoryBudget {
		return &FullError{Cure: "branches wait too long for each other; give it a timeout, or the barriers in its branches a trigger"}
	}
	return nil
}

// find returns the entry of the fork parent, and makes one if there is none. The error says that nothing can happen to this
// branch.
func (m *meeting) find(at int64, keys []Token, branch int) (*entry, error) {
	if len(keys) == 0 || branch < 0 || branch >= len(m.spec.Branches) {
		return nil, fmt.Errorf("a token came to the coalesce by no branch that it expects (branch %d, %d open forks)", branch, len(keys))
	}
	key := keys[len(keys)-1]
	e, found := m.entries[key]
	switch {
	case !found:
		e = m.newEntry(m.open(), at, slices.Clone(keys))
		m.enter(e)
	case !e.join.states[branch].outstanding():
		return nil, fmt.Errorf("the branch %q of row %d in lane %d came twice", m.spec.Branches[branch], key.Row, key.Lane)
	}
	return e, nil
}

func (m *meeting) newEntry(number uint32, at int64, keys []Token) *entry {
	return &entry{number: number, keys: keys, opened: at, join: newJoin(m.spec, m.merger)}
}

func (m *meeting) enter(e *entry) {
	e.queued = m.queue.PushBack(e)
	m.entries[e.keys[len(e.keys)-1]] = e
	if !e.join.decided {
		m.pending++
	}
}

// arrive takes a branch, and returns the number of its batch.
func (m *meeting) arrive(e *entry, at int64, a *Arrival, s *Settlement) uint32 {
	if e.join.decided {
		e.join.Arrive(a.Branch, a.Row)
		late := Batch{Number: m.open(), Trigger: FiredByArrival, Path: pipeline.BranchNotNeeded, Rows: 1, Opened: moment(at), Fired: moment(at), Of: e.number}
		s.Batches = append(s.Batches, late)
		return late.Number
	}
	m.note(e, comer{branch: a.Branch, token: a.Token, at: at, bytes: memberBytes + valueBytes(a.Row.Values)})
	if e.join.Arrive(a.Branch, a.Row) {
		m.settle(e, at, s)
	} else if !e.touched {
		e.touched = true
		m.touched = append(m.touched, e)
	}
	return e.number
}

// note adds a token that came in time.
func (m *meeting) note(e *entry, c comer) {
	e.came = append(e.came, c)
	m.rows++
	m.kept += c.bytes
	if e.waiting == nil && m.spec.Timeout > 0 {
		e.waiting = m.waiting.PushBack(e)
	}
}

// settle ends an entry that was decided at this moment, as far as the row is concerned.
func (m *meeting) settle(e *entry, at int64, s *Settlement) {
	decision := e.join.Decision()
	merge := &Merge{Decision: decision, Key: e.keys[len(e.keys)-1], HasOut: !decision.Nothing}
	for _, c := range e.came {
		merge.Arrived = append(merge.Arrived, Arrived{Branch: m.spec.Branches[c.branch], Token: c.token, At: moment(c.at)})
	}
	if len(e.came) > 0 {
		merge.Wait = time.Duration(at-e.came[0].at) * time.Microsecond
	}
	s.Batches = append(s.Batches, Batch{
		Number: e.number, Trigger: decision.FiredBy, Path: pipeline.Coalesced, Rows: int64(len(e.came)), Opened: moment(e.opened), Fired: moment(at), Merge: merge,
	})
	outer := e.keys[:len(e.keys)-1]
	if merge.HasOut {
		s.Outs = append(s.Outs, Out{Batch: e.number, Keys: outer, Row: decision.Row, Refused: decision.Refused})
	} else {
		m.outer.lose(outer, pipeline.ForkParent, s) // that is how the token ended of which nothing came
	}
	m.release(e)
}

// release drops what a decided entry needs no more.
func (m *meeting) release(e *entry) {
	m.pending--
	m.rows -= int64(len(e.came))
	for _, c := range e.came {
		m.kept -= c.bytes
	}
	if e.waiting != nil {
		m.waiting.Remove(e.waiting)
		e.waiting = nil
	}
	e.came, e.join.rows, e.join.decision = nil, nil, Decision{}
}

// forget drops an entry of which every branch is accounted for.
func (m *meeting) forget(e *entry) {
	if e.join.decided && e.join.complete() {
		m.queue.Remove(e.queued)
		delete(m.entries, e.keys[len(e.keys)-1])
	}
}

// ownRows gives the rows that wait beyond the fold memory of their own.
func (m *meeting) ownRows() {
	for _, e := range m.touched {
		e.touched = false
		for i := range e.came {
			if c := &e.came[i]; !c.owned {
				c.owned = true
				e.join.rows[c.branch].Values = ownValues(e.join.rows[c.branch].Values)
			}
		}
	}
	m.touched = m.touched[:0]
}

func (m *meeting) deadlineOf(e *entry) int64 { return e.came[0].at + m.spec.Timeout.Microseconds() }

// due expires entries in order of their deadlines, those with the same one in order of opening.
func (m *meeting) due(at int64, s *Settlement) {
	var expired []*entry
	for front := m.waiting.Front(); front != nil; front = front.Next() {
		e := front.Value.(*entry)
		if m.deadlineOf(e) > at {
			break
		}
		expired = append(expired, e)
	}
	slices.SortFunc(expired, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(m.deadlineOf(a), m.deadlineOf(b)), cmp.Compare(a.number, b.number))
	})
	for _, e := range expired {
		deadline := m.deadlineOf(e)
		e.join.Expire()
		m.settle(e, deadline, s)
	}
}

func (m *meeting) deadline() time.Time {
	if front := m.waiting.Front(); front != nil {
		return moment(m.deadlineOf(front.Value.(*entry)))
	}
	return time.Time{}
}

// end decides all entries with what came.
func (m *meeting) end(at int64, s *Settlement) {
	for e := m.queue.Front(); e != nil; e = e.Next() {
		if waiting := e.Value.(*entry); waiting.join.Finish() {
			m.settle(waiting, at, s)
		}
	}
}

func (m *meeting) held() (batches, rows int64) { return m.pending, m.rows }
