package landscape

import (
	"context"
	"errors"
	"fmt"
)

// ArrivalAction is what a person decided about an arrival. Stored; never rename one.
type ArrivalAction string

// The actions.
const (
	IgnoreArrival ArrivalAction = "ignore" // it waited, and gets no run
	AgainArrival  ArrivalAction = "again"  // it arrived once more, as another revision
)

// ArrivalOrder is what a person decided about an arrival.
type ArrivalOrder struct {
	Trigger  string        `db:"trigger,key"`
	Item     string        `db:"item,key"`
	Revision int64         `db:"revision,key"` // that gets no run, or that came with the order
	Action   ArrivalAction `db:"action,key"`
	Actor    string        `db:"actor"`
	Why      string        `db:"why"`
	At       Micros        `db:"at_us"` // set by Log
}

// Table returns arrival_orders.
func (ArrivalOrder) Table() string { return "arrival_orders" }

// Ignore records that an arrival, which was read and waits, gets no run: by whom and why, and with a sentence for people. It needs no turn: who would take it now does not get it. The
// error wraps ErrStale if the arrival is not as it was read.
func (l *Log) Ignore(ctx context.Context, from Arrival, reason, actor, why string) error {
	now := l.now()
	to := from
	to.State, to.Reason, to.Changes, to.Changed = ArrivalIgnored, reason, from.Changes+1, now
	order := ArrivalOrder{from.Trigger, from.Item, from.Revision, IgnoreArrival, actor, why, now}
	err := l.plain.Commit(ctx, Tx{Insert: []Record{order}, Move: []Move{{From: from, To: to}}})
	if err == nil {
		return nil
	}
	if is, read := l.ArrivalAt(ctx, from.Trigger, from.Item, from.Revision); read == nil && is != from { // then the order was refused before the move
		err = errors.Join(ErrStale, err)
	}
	return fmt.Errorf("arrival %s of trigger %s: %w", from.Item, from.Trigger, err)
}

// Again records what arrived last of an item once more, as another revision, which waits: who wants that and why, and a sentence for people. It returns that revision. The error wraps ErrStale if
// another revision came meanwhile, and ErrPurged if what was delivered is not stored any more.
func (l *Log) Again(ctx context.Context, last Arrival, reason, actor, why string) (Arrival, error) {
	now := l.now()
	next := last
	next.Revision++
	next.ArrivalFacts = ArrivalFacts{Place: last.Place, Payload: last.Payload, At: now, Changed: now, State: ArrivalReady, Reason: reason}
	order := ArrivalOrder{next.Trigger, next.Item, next.Revision, AgainArrival, actor, why, now}
	err := l.plain.Commit(ctx, Tx{Insert: []Record{next, order}})
	if _, is := errors.AsType[*DivergedError](err); is {
		err = errors.Join(ErrStale, err)
	}
	if err != nil {
		return last, fmt.Errorf("arrival %s of trigger %s: %w", last.Item, last.Trigger, err)
	}
	return next, nil
}

// OrdersOfArrival returns what people decided about a revision of an item; nil if nobody did.
func (r *Reader) OrdersOfArrival(ctx context.Context, trigger, item string, revision int64) ([]ArrivalOrder, error) {
	return Select[ArrivalOrder](ctx, r.from, trigger, item, revision)
}

// arrivalByTime is an Arrival by when it arrived.
type arrivalByTime struct {
	Trigger  string `db:"trigger,key"`
	Since    Micros `db:"arrived_us,key"`
	Item     string `db:"item,key"`
	Revision int64  `db:"revision,key"`
	ArrivalFacts
}

// Table returns arrivals.
func (arrivalByTime) Table() string { return Arrival{}.Table() }

// NewestArrivals returns the arrivals of a trigger in a state, or in any for an empty one, the newest first: those behind after, or from the newest one if that is nil, at most so many; nil
// if there is none.
func (r *Reader) NewestArrivals(ctx context.Context, trigger string, state ArrivalState, after *Arrival, limit int) (found []Arrival, err error) {
	query := Query{Prefix: []any{trigger}, Descending: true, Limit: limit}
	if after != nil {
		query.After = []any{int64(after.At), after.Item, after.Revision}
	}
	if state == "" {
		err = r.from.Read(ctx, arrivalByTime{}, query, func(record Record) bool {
			a := record.(arrivalByTime)
			found = append(found, Arrival{a.Trigger, a.Item, a.Revision, a.ArrivalFacts})
			return true
		})
		return found, err
	}
	query.Prefix = []any{string(state), trigger}
	err = r.from.Read(ctx, arrivalInState{}, query, func(record Record) bool {
		a := record.(arrivalInState)
		found = append(found, Arrival{a.Trigger, a.Item, a.Revision, a.ArrivalFacts})
		return true
	})
	return found, err
}

// ArrivalAt returns a revision of an item that arrived at a trigger. The error wraps ErrNotFound if there is none.
func (r *Reader) ArrivalAt(ctx context.Context, trigger, item string, revision int64) (Arrival, error) {
	return get[Arrival](ctx, r.from, trigger, item, revision)
}
