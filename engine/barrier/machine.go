package barrier

import (
	"fmt"
	"math"
	"slices"
	"time"

	"waymark/engine/plan"
	"waymark/pipeline"
)

// Limits of one barrier.
const (
	maxGroups    = 200_000  // open batches, of about 1 KB each; a row that would open one more is rejected with TOO_MANY_GROUPS
	memoryBudget = 64 << 20 // bytes of rows and values that are kept; beyond, the largest batch fires, or the run stops
)

// A FullError says that a barrier would have to hold more than it may, and must not let go of anything: what came out would
// pass for more than it is.
type FullError struct {
	Cure string // what to change in the document
}

// Error returns the limit and the cure.
func (e *FullError) Error() string {
	return fmt.Sprintf("it holds more than %d MiB of rows: %s", memoryBudget>>20, e.Cure)
}

// NewRun says that the cure changes the document: the run cannot go on.
func (e *FullError) NewRun() bool { return true }

// A Machine is the state of a barrier. Callers give it the folds of the barrier in order, each with its moment; a moment
// before that of the last fold counts as that one. It is deterministic: equal folds from equal states give equal settlements.
//
// What it holds from fold to fold has memory of its own. After an error it is of no more use. Not for concurrent use.
type Machine struct {
	*core
	operation string
	rule      holder
}

// core is what machines of all kinds have.
type core struct {
	now    int64  // moment of the last fold, in µs
	number uint32 // of the batch that was opened last
	outer  *enclosing

	maxGroups    int
	memoryBudget int
}

// holder is what a kind of barrier does with what comes. Moments are in µs.
type holder interface {
	// due settles what fires by time up to the moment.
	due(at int64, s *Settlement)
	accept(at int64, in *Arrivals, s *Settlement) error
	end(at int64, s *Settlement)
	deadline() time.Time
	held() (batches, rows int64)
	save(w *writer)
	load(r *reader)
}

// New returns the machine of the node, which is a barrier of the plan, before its first fold.
func New(p *plan.Plan, node int) *Machine {
	n := &p.Nodes[node]
	m := &Machine{
		core:      &core{now: math.MinInt64, outer: newEnclosing(p, n), maxGroups: maxGroups, memoryBudget: memoryBudget},
		operation: n.Operation,
	}
	switch n.Operation {
	case plan.Expand:
		m.rule = newExpander(m.core, n)
	case plan.Coalesce:
		m.rule = newHeldCoalesce(m.core, n.Coalescing)
	default:
		m.rule = newBatcher(m.core, n)
	}
	return m
}

// Accept takes what a chunk brings, at this moment. What is due by then fires first. The rows of in may be kept by the
// settlement, but not beyond; Accept changes nothing in in.
//
// The error is a *FullError if the machine may hold no more. Any other says that in is not what the engine makes of a plan,
// such as a branch that comes twice.
func (m *Machine) Accept(at time.Time, in *Arrivals) (*Settlement, error) {
	if events := uint64(len(in.List)) + uint64(len(in.Losses)); uint64(m.number)+events > math.MaxUint32 {
		return nil, fmt.Errorf("the barrier has opened %d batches, and cannot number %d more; let it gather more rows in one", m.number, events)
	}
	s := &Settlement{Members: make([]uint32, len(in.List))}
	now := m.advance(at)
	m.rule.due(now, s)
	if err := m.rule.accept(now, in, s); err != nil {
		return nil, err
	}
	return s, nil
}

// Tick fires what is due at this moment.
func (m *Machine) Tick(at time.Time) (*Settlement, error) {
	s := &Settlement{}
	m.rule.due(m.advance(at), s)
	return s, nil
}

// End fires what is due at this moment, and then all that is open: nothing more will arrive.
func (m *Machine) End(at time.Time) (*Settlement, error) {
	s := &Settlement{}
	now := m.advance(at)
	m.rule.due(now, s)
	m.rule.end(now, s)
	return s, nil
}

// Deadline returns the moment at which something fires if nothing happens before; the zero time if nothing waits for a moment.
func (m *Machine) Deadline() time.Time { return m.rule.deadline() }

// Held returns how many batches are open, and how many tokens in them.
func (m *Machine) Held() (batches, rows int64) { return m.rule.held() }

// advance returns the moment of a fold. Moments do not go back.
func (c *core) advance(at time.Time) int64 {
	c.now = max(c.now, at.UnixMicro())
	return c.now
}

// open returns the number of a new batch.
func (c *core) open() uint32 {
	c.number++
	return c.number
}

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// enclosing is the branch by which the rows that come out of a barrier are expected at a coalesce. It is nil if no coalesce
// waits for them.
type enclosing struct{ branch int }

func newEnclosing(p *plan.Plan, node *plan.Node) *enclosing {
	if len(node.Context) == 0 {
		return nil
	}
	inner := node.Context[len(node.Context)-1]
	if inner.Coalesce == plan.None {
		return nil
	}
	branch := slices.Index(p.Nodes[inner.Coalesce].Coalescing.Branches, inner.Name)
	if branch < 0 {
		return nil
	}
	return &enclosing{branch}
}

// lose notes that no row will come out for a token with these keys.
func (e *enclosing) lose(keys []Token, reason pipeline.Path, s *Settlement) {
	if e != nil {
		s.Losses = append(s.Losses, Loss{Keys: keys, Branch: e.branch, Reason: reason})
	}
}
