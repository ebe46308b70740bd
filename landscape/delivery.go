package landscape

import (
	"context"
	"errors"
	"fmt"
)

// DeliveryState is what became of a delivery. Stored; never rename one.
type DeliveryState string

// The states.
const (
	DeliveryDue  DeliveryState = "due"
	DeliveryOK   DeliveryState = "ok"   // the endpoint took it
	DeliveryDead DeliveryState = "dead" // it is not tried again, unless a person says so
)

// CheckDeliveryState says what is wrong with a word for what became of a delivery; nil if it is one.
func CheckDeliveryState(state DeliveryState) error {
	switch state {
	case DeliveryDue, DeliveryOK, DeliveryDead:
		return nil
	}
	return fmt.Errorf("%.64q is no state of a delivery: write due, ok or dead", string(state))
}

// Delivery is one event that an endpoint is to get.
type Delivery struct {
	Endpoint string        `db:"endpoint,key"`
	Position int64         `db:"position,key"` // of the event
	State    DeliveryState `db:"state,move"`
	Attempts int64         `db:"attempts,move"` // how often it was tried
	Tries    int64         `db:"tries,move"`    // how often since a person asked for it, if one did
	Next     Micros        `db:"next_us,move"`  // before which it is not tried
	Status   int64         `db:"status,move"`   // HTTP status of the last answer; 0 if there was none
	Error    string        `db:"error,move"`    // why the last attempt failed; empty if it did not
}

// Table returns deliveries.
func (Delivery) Table() string { return "deliveries" }

// DeliveryAttempt is one time that a delivery was tried.
type DeliveryAttempt struct {
	Endpoint string `db:"endpoint,key"`
	Position int64  `db:"position,key"`
	Attempt  int64  `db:"attempt,key"` // from 1
	At       Micros `db:"at_us"`
	Millis   int64  `db:"ms"`     // how long it took
	Status   int64  `db:"status"` // HTTP status; 0 if there was no answer
	Error    string `db:"error"`  // why it failed; empty if it did not
	Answer   string `db:"answer"` // the beginning of what the endpoint answered to an attempt that failed, without secrets
}

// Table returns delivery_attempts.
func (DeliveryAttempt) Table() string { return "delivery_attempts" }

// deliveryInState is a Delivery by its state.
type deliveryInState struct {
	In string        `db:"endpoint,key"`
	Is DeliveryState `db:"state,key"`
	At int64         `db:"position,key"`
	Delivery
}

// mostEnlisted is how many events become deliveries in one transaction.
const mostEnlisted = 256

// Enlist makes deliveries of the events that an endpoint wants and does not have yet, as the process that holds the endpoint, and returns its state then. more says
// that there may be others. The error wraps ErrStale if another process has the endpoint by now.
func (l *Log) Enlist(ctx context.Context, e Endpoint, held EndpointState) (state EndpointState, more bool, err error) {
	events, err := l.Outbox(ctx, held.Cursor, mostEnlisted)
	if err != nil || events == nil {
		return held, false, err
	}
	next := held
	tx := Tx{}
	for _, event := range events {
		next.Cursor = event.Position
		if e.Wants(event) {
			tx.Insert = append(tx.Insert, Delivery{Endpoint: e.Name, Position: event.Position, State: DeliveryDue, Next: l.now()})
		}
	}
	tx.Move = []Move{{From: held, To: next}}
	if err := l.plain.Commit(ctx, tx); err != nil {
		return held, false, err
	}
	return next, len(events) == mostEnlisted, nil
}

// Deliveries returns deliveries to an endpoint in a state, by position, those after a position, at most so many, or all with the limit 0; nil if there is none. An
// empty state means all.
func (r *Reader) Deliveries(ctx context.Context, endpoint string, state DeliveryState, after int64, limit int) (found []Delivery, err error) {
	if state == "" {
		return Page[Delivery](ctx, r.from, Query{Prefix: []any{endpoint}, After: []any{after}, Limit: limit})
	}
	err = r.from.Read(ctx, deliveryInState{}, Query{Prefix: []any{endpoint, string(state)}, After: []any{after}, Limit: limit}, func(record Record) bool {
		found = append(found, record.(deliveryInState).Delivery)
		return true
	})
	return found, err
}

// DeliveryAttempts returns the attempts of a delivery, the first first; nil if there is none.
func (r *Reader) DeliveryAttempts(ctx context.Context, endpoint string, position int64) ([]DeliveryAttempt, error) {
	return Select[DeliveryAttempt](ctx, r.from, endpoint, position)
}

// RecordAttempt records an attempt at a delivery and what becomes of the delivery, as the process that holds the endpoint, and returns the endpoint's state then. The
// number of the attempt is set. If the delivery is dead, and nothing was before, an event says so. The error wraps ErrStale if another process has the endpoint by now, or a person
// changed the delivery: then the attempt is made again.
func (l *Log) RecordAttempt(ctx context.Context, e Endpoint, held EndpointState, was, becomes Delivery, attempt DeliveryAttempt) (EndpointState, error) {
	becomes.Attempts = was.Attempts + 1
	becomes.Tries = was.Tries + 1
	attempt.Endpoint, attempt.Position, attempt.Attempt = was.Endpoint, was.Position, becomes.Attempts
	tx := Tx{Insert: []Record{attempt}, Move: []Move{{From: was, To: becomes}}}
	next := held
	next.Until = max(l.now()+Micros(EndpointLease.Microseconds()), held.Until+1) // a change, so that it must still be held
	switch {
	case becomes.State == DeliveryOK:
		next.Failing = 0
	case becomes.State == DeliveryDead && held.Failing == 0:
		next.Failing = l.now()
		tx.Insert = append(tx.Insert, e.event(EndpointFailing, becomes.Position, next.Failing))
	}
	tx.Move = append(tx.Move, Move{From: held, To: next})
	return next, l.plain.Commit(ctx, tx)
}

// DisableFailing disables an endpoint that takes nothing, with an event, unless somebody changed it meanwhile.
func (l *Log) DisableFailing(ctx context.Context, e Endpoint, why string) error {
	row := e
	row.Seq, row.Action, row.Disabled, row.Actor, row.Why, row.At = e.Seq+1, DisableEndpoint, true, "waymark", why, l.now()
	err := l.plain.Commit(ctx, Tx{Insert: []Record{row, row.event(EndpointDisabled, row.Seq, row.At)}})
	if _, raced := errors.AsType[*DivergedError](err); raced {
		err = nil
	}
	return err
}

// Replayed says which deliveries a person asks for once more.
type Replayed struct {
	From  int64       // events from this position on
	Kinds []EventKind // nil for all
	Dead  bool        // only those that are dead
}

// Replay lets an endpoint get events again, or for the first time, under their old ids: those that it wants and that are still kept. It returns how many. They are due at
// once; in strict order others wait for them.
func (l *Log) Replay(ctx context.Context, e Endpoint, r Replayed) (n int, err error) {
	state, err := l.EndpointState(ctx, e.Name)
	if err != nil {
		return 0, err
	}
	for after := max(r.From-1, 0); ; {
		events, err := l.Outbox(ctx, after, mostEnlisted)
		if err != nil || len(events) == 0 {
			return n, err
		}
		tx := Tx{}
		if err := l.again(ctx, &tx, e, r, events, state.Cursor); err != nil {
			return n, err
		}
		if changed := len(tx.Insert) + len(tx.Move); changed > 0 {
			if err := l.plain.Commit(ctx, tx); err != nil {
				return n, err
			}
			n += changed
		}
		after = events[len(events)-1].Position
	}
}

// again adds to a transaction that events are due once more. Those after the cursor come anyway.
func (l *Log) again(ctx context.Context, tx *Tx, e Endpoint, r Replayed, events []Event, cursor int64) error {
	for _, event := range events {
		if event.Position > cursor || !e.Wants(event) || !r.wants(event) {
			continue
		}
		was, err := get[Delivery](ctx, l, e.Name, event.Position)
		switch {
		case errors.Is(err, ErrNotFound) && !r.Dead:
			tx.Insert = append(tx.Insert, Delivery{Endpoint: e.Name, Position: event.Position, State: DeliveryDue, Next: l.now()})
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return err
		case was.State != DeliveryDue && (!r.Dead || was.State == DeliveryDead):
			next := was
			next.State, next.Tries, next.Next = DeliveryDue, 0, l.now()
			tx.Move = append(tx.Move, Move{From: was, To: next})
		}
	}
	return nil
}

func (r Replayed) wants(event Event) bool {
	for _, kind := range r.Kinds {
		if kind == event.Kind {
			return true
		}
	}
	return r.Kinds == nil
}

// DroppableEvents returns up to which position no enabled endpoint is still to get an event, and no trigger is still to look at one.
func (r *Reader) DroppableEvents(ctx context.Context) (int64, error) {
	head, err := r.OutboxHead(ctx)
	if err != nil {
		return 0, err
	}
	upTo, err := r.lookedAt(ctx, head.Size)
	if err != nil {
		return 0, err
	}
	endpoints, err := r.Endpoints(ctx)
	for _, e := range endpoints {
		if e.Disabled {
			continue
		}
		state, err := r.EndpointState(ctx, e.Name)
		if err != nil {
			return 0, err
		}
		due, err := r.Deliveries(ctx, e.Name, DeliveryDue, 0, 1)
		if err != nil {
			return 0, err
		}
		upTo = min(upTo, state.Cursor)
		if due != nil {
			upTo = min(upTo, due[0].Position-1)
		}
	}
	return upTo, err
}

// Backlog is what an endpoint is still to get.
type Backlog struct {
	Endpoint Endpoint
	State    EndpointState
	Waiting  int64  // events that it is to get, or that nobody has looked at yet for it
	Oldest   Micros // when the oldest of these happened; 0 if there is none
	Dead     int64  // events that it did not take, and that are not tried again
}

// Backlogs returns what each endpoint is still to get, by name; nil if there is none.
func (r *Reader) Backlogs(ctx context.Context) (all []Backlog, err error) {
	endpoints, err := r.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range endpoints {
		b, err := r.backlog(ctx, e)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

func (r *Reader) backlog(ctx context.Context, e Endpoint) (b Backlog, err error) {
	b.Endpoint = e
	if b.State, err = r.EndpointState(ctx, e.Name); err != nil {
		return b, err
	}
	due, err := r.Deliveries(ctx, e.Name, DeliveryDue, 0, 0)
	if err != nil {
		return b, err
	}
	dead, err := r.Deliveries(ctx, e.Name, DeliveryDead, 0, 0)
	if err != nil {
		return b, err
	}
	b.Waiting, b.Dead = int64(len(due)), int64(len(dead))
	if len(due) > 0 {
		first, err := r.Outbox(ctx, due[0].Position-1, 1)
		if err != nil {
			return b, err
		}
		for _, event := range first {
			b.Oldest = event.At
		}
	}
	return b, r.from.Read(ctx, eventAt{}, Query{After: []any{b.State.Cursor, maxText}}, func(record Record) bool {
		if event := record.(eventAt).Event; e.Wants(event) {
			b.Waiting++
			if b.Oldest == 0 {
				b.Oldest = event.At
			}
		}
		return true
	})
}

// EndDeliveries are the event that says how a run ended, and what became of its deliveries.
type EndDeliveries struct {
	Event      Event      // its Position is 0 as long as it has none
	Deliveries []Delivery // to the enabled endpoints that want it, by name; with an empty State as long as nobody has looked for them
}

// EndDeliveries returns the event that says how a run ended, and what became of its deliveries. The error wraps ErrNotFound if the
// event was dropped.
func (r *Reader) EndDeliveries(ctx context.Context, run RunHead) (end EndDeliveries, err error) {
	if end.Event, err = get[Event](ctx, r.from, endEvent(run, nil, run.Finished).About); err != nil {
		return end, err
	}
	endpoints, err := r.Endpoints(ctx)
	if err != nil {
		return end, err
	}
	for _, e := range endpoints {
		if e.Disabled || !e.Wants(end.Event) {
			continue
		}
		delivery, err := get[Delivery](ctx, r.from, e.Name, end.Event.Position)
		if errors.Is(err, ErrNotFound) {
			state, err := r.EndpointState(ctx, e.Name)
			if err != nil {
				return end, err
			}
			if end.Event.Position != 0 && end.Event.Position <= state.Cursor {
				continue // it was added later
			}
			delivery = Delivery{Endpoint: e.Name}
		} else if err != nil {
			return end, err
		}
		end.Deliveries = append(end.Deliveries, delivery)
	}
	return end, nil
}
