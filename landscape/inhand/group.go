package inhand

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"waymark/internal/defect"
	"waymark/landscape"
)

// Group is work that is done side by side for one run, such as on each of its outputs. What its members commit at the
// same time is one transaction.
type Group struct {
	patience time.Duration
	mu       sync.Mutex
	members  int
	waiting  []*waiter
	changed  chan struct{} // closed when it is time for those that wait to look again; nil if nobody waits
}

// waiter is a transaction that waits for others.
type waiter struct {
	tx   landscape.Tx
	done chan error
}

type groupKey struct{}

// NewGroup returns a group without members. A transaction waits for those of the other members as long as patience
// says: long only where no member waits for another one with anything else.
func NewGroup(patience time.Duration) *Group { return &Group{patience: patience} }

// Enter says that a member begins to work. It must leave.
func (g *Group) Enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members++
}

// Member returns a context whose commits go together with those of the other members.
func (g *Group) Member(ctx context.Context) context.Context {
	return context.WithValue(ctx, groupKey{}, g)
}

// Leave says that a member commits nothing more. Each must.
func (g *Group) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members--
	if len(g.waiting) >= g.members {
		g.wake()
	}
}

// wake lets those that wait look again. It must be called with mu held.
func (g *Group) wake() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// joint reports whether a transaction may go together with others.
func joint(tx landscape.Tx) bool {
	return tx.Guard != nil && tx.Check == "" && tx.Seal == nil && tx.Remove == "" && len(tx.Append) == 0 &&
		tx.Repeats == nil
}

// commit commits a transaction with those of the other members, if they come soon. Where they cannot be committed
// together each is committed for itself.
func (g *Group) commit(ctx context.Context, tx landscape.Tx, do func(context.Context, landscape.Tx) error) error {
	own := &waiter{tx, make(chan error, 1)}
	g.join(own)
	together := g.gather(own)
	if together == nil { // another one has it
		return <-own.done
	}
	try := func(tx landscape.Tx) error {
		return defect.Catch("record", func() error { return do(ctx, tx) }) // the others wait
	}
	err := try(merged(together))
	for _, w := range together {
		one := err
		if len(together) > 1 && known(err) {
			one = try(w.tx)
		}
		w.done <- one
	}
	return <-own.done
}

// join adds a transaction to those that wait.
func (g *Group) join(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, w)
}

// gather waits until no member is missing, or its patience ends, and returns all transactions that wait then; nil if
// another member has this one.
func (g *Group) gather(w *waiter) []*waiter {
	patience := time.NewTimer(g.patience)
	defer patience.Stop()
	for late := false; ; {
		together, changed := g.take(w, late)
		if changed == nil {
			return together
		}
		select {
		case <-changed:
		case <-patience.C:
			late = true
		}
	}
}

// take returns all that wait, if no member is missing or it is late; nil if another member has this one. If it has to
// wait, changed says when to look again.
func (g *Group) take(w *waiter, late bool) (together []*waiter, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.waiting, w) {
		return nil, nil
	}
	if !late && len(g.waiting) < g.members {
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		return nil, g.changed
	}
	together, g.waiting = g.waiting, nil
	g.wake()
	return together, nil
}

// merged returns one transaction that does what several do. Those of a group have the same guard.
func merged(together []*waiter) landscape.Tx {
	all := together[0].tx
	all.Insert, all.Move = slices.Clone(all.Insert), slices.Clone(all.Move)
	for _, w := range together[1:] {
		all.Insert = append(all.Insert, w.tx.Insert...)
		all.Move = append(all.Move, w.tx.Move...)
	}
	slices.SortStableFunc(all.Insert, func(a, b landscape.Record) int { return order[a.Table()] - order[b.Table()] })
	return all
}

// order is that of all tables, parents before children.
var order = func() map[string]int {
	places := map[string]int{}
	for i, t := range landscape.Tables() {
		places[t.Name] = i
	}
	return places
}()

// known reports whether an error says that nothing of a transaction is stored.
func known(err error) bool {
	return errors.Is(err, landscape.ErrStale) || errors.As(err, new(*landscape.DivergedError)) ||
		errors.Is(err, landscape.ErrSuperseded) || errors.Is(err, landscape.ErrEnded) || errors.Is(err, landscape.ErrFull)
}
