package landscape

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// Event is one thing that happened, as others are told. It is recorded in the transaction of what it tells, so that neither is there
// without the other.
type Event struct {
	About       string    `db:"about,key"`   // what happened to what, of which the outbox has one event, such as run.completed/RUN/0
	ID          string    `db:"event,first"` // UUIDv7, by which receivers know it
	Kind        EventKind `db:"kind"`
	Subject     string    `db:"subject"`     // what it happened to: a run's id, or such as pipeline/ENVIRONMENT/NAME
	Seq         int64     `db:"seq"`         // of two events of a subject, the one with the smaller number came first
	Run         string    `db:"run_id"`      // empty if it is about none
	Pipeline    string    `db:"pipeline"`    // empty if it is about none
	Environment string    `db:"environment"` // in which that is deployed; empty if it is of a file
	Body        string    `db:"body,first"`  // JSON as receivers get it: names, ids, counts and digests, no values of rows
	At          Micros    `db:"at_us,first"`
	Position    int64     `db:"position,move"` // among all events, from 1; 0 until Log.Sequence gives it one. It never changes
}

// Table returns outbox.
func (Event) Table() string { return "outbox" }

// OutboxHead says how many events have a position, and how many of those are gone. There is one; who gives positions moves it.
type OutboxHead struct {
	ID      int64 `db:"id,key"`       // 0
	Size    int64 `db:"size,move"`    // the last position that was given
	Dropped int64 `db:"dropped,move"` // events up to this position were dropped, because they were old
}

// Table returns outbox_head.
func (OutboxHead) Table() string { return "outbox_head" }

// eventPlace is what Sequence moves of an event.
type eventPlace struct {
	About    string `db:"about,key"`
	Position int64  `db:"position,move"`
}

// Table returns outbox.
func (eventPlace) Table() string { return Event{}.Table() }

// waitingEvent is an event by its position, as far as its order needs it.
type waitingEvent struct {
	Position int64  `db:"position,key"`
	About    string `db:"about,key"`
	Subject  string `db:"subject"`
	Seq      int64  `db:"seq"`
	At       Micros `db:"at_us"`
}

// Table returns outbox.
func (waitingEvent) Table() string { return Event{}.Table() }

// eventAt is an Event by its position.
type eventAt struct {
	Place int64 `db:"position,key"`
	Event
}

// mostSequenced is how many events get a position in one transaction.
const mostSequenced = 256

// Sequence gives a position to every event that has none, and returns to how many. The events of a subject get theirs in the order in which they
// happened; those of several subjects in the order of their times, as far as they come together. It may be called by several processes at once:
// the second finds nothing to do. Transactions commit out of the order of their times, so that only positions tell a reader that nothing
// comes before what it has read.
func (l *Log) Sequence(ctx context.Context) (sequenced int, err error) {
	for {
		var n int
		err := settle("", func() (err error) {
			n, err = l.sequence(ctx)
			return err
		})
		sequenced += n
		if errors.Is(err, ErrStale) {
			err = nil // others give positions all the time
		}
		if err != nil || n < mostSequenced {
			return sequenced, err
		}
	}
}

// sequence gives positions to as many events as one transaction does.
func (l *Log) sequence(ctx context.Context) (int, error) {
	some, err := Page[waitingEvent](ctx, l, Query{Prefix: []any{int64(0)}, Limit: 1})
	if err != nil || some == nil {
		return 0, err
	}
	head, err := l.OutboxHead(ctx) // before the events are read: else two could get one position
	if err != nil {
		return 0, err
	}
	waiting, err := Select[waitingEvent](ctx, l, int64(0))
	if err != nil || waiting == nil {
		return 0, err
	}
	inOrder(waiting)
	waiting = waiting[:min(len(waiting), mostSequenced)]
	next := head
	next.Size += int64(len(waiting))
	tx := Tx{Move: []Move{{From: head, To: next}}}
	for i, event := range waiting {
		tx.Move = append(tx.Move, Move{From: eventPlace{About: event.About}, To: eventPlace{event.About, head.Size + 1 + int64(i)}})
	}
	return len(waiting), l.plain.Commit(ctx, tx)
}

// inOrder sorts events by their times, but those of one subject by their numbers: the clocks of processes differ.
func inOrder(events []waitingEvent) {
	slices.SortFunc(events, func(a, b waitingEvent) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.At, b.At), cmp.Compare(a.About, b.About))
	})
	for i := 1; i < len(events); i++ {
		if events[i].Subject == events[i-1].Subject {
			events[i].At = max(events[i].At, events[i-1].At)
		}
	}
	slices.SortStableFunc(events, func(a, b waitingEvent) int { return cmp.Compare(a.At, b.At) })
}

// OutboxHead returns how many events have a position, and how many of those are gone.
func (r *Reader) OutboxHead(ctx context.Context) (OutboxHead, error) {
	head, err := get[OutboxHead](ctx, r.from, int64(0))
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return head, err
}

// mostWaiting is how many events without a position Happened counts at most: while none gives them one, they pile up.
const mostWaiting = 100

// Happened returns how many events have a position, and how many wait for one, at most a hundred: both change when one
// comes, and when one gets its position.
func (r *Reader) Happened(ctx context.Context) (ordered, waiting int64, err error) {
	const tries = 5
	for range tries {
		before, err := r.OutboxHead(ctx)
		if err != nil {
			return 0, 0, err
		}
		waiting = 0
		err = r.from.Read(ctx, waitingEvent{}, Query{Prefix: []any{int64(0)}, Limit: mostWaiting}, func(Record) bool {
			waiting++
			return true
		})
		if err != nil {
			return 0, 0, err
		}
		after, err := r.OutboxHead(ctx)
		if err != nil || after == before { // else some got a position between the two: they would count twice
			return after.Size, waiting, err
		}
		ordered = after.Size
	}
	return ordered, waiting, nil
}

// Outbox returns the events after a position, in order, at most so many, or all with the limit 0; nil if there is none. Those that have no position are
// left out.
func (r *Reader) Outbox(ctx context.Context, after int64, limit int) (events []Event, err error) {
	err = r.from.Read(ctx, eventAt{}, Query{After: []any{max(after, 0), maxText}, Limit: limit}, func(record Record) bool {
		events = append(events, record.(eventAt).Event)
		return true
	})
	return events, err
}

// AgedEvent is an event by its position, as far as it matters whether it is old enough to be dropped.
type AgedEvent struct {
	Position int64  `db:"position,key"`
	About    string `db:"about,key"`
	Run      string `db:"run_id"`   // empty if it is about none
	Pipeline string `db:"pipeline"` // empty if it is about none
	At       Micros `db:"at_us"`
}

// Table returns outbox.
func (AgedEvent) Table() string { return Event{}.Table() }

// MostDropped is how many events one call of DropEvents looks at.
const MostDropped = 10_000

// DropEvents removes the events that are due and have a position of at most upTo, the oldest first, and returns how
// many. It ends at the first that is not due, and counts what it removes in the head.
func (l *Log) DropEvents(
	ctx context.Context, upTo int64, due func(AgedEvent) (bool, error),
) (dropped int64, err error) {
	err = settle("", func() error {
		head, err := l.OutboxHead(ctx)
		if err != nil {
			return err
		}
		next := head
		aged, err := Page[AgedEvent](ctx, l.from, Query{After: []any{head.Dropped, maxText}, Limit: MostDropped})
		for _, event := range aged {
			old := event.Position <= upTo
			if old {
				if old, err = due(event); err != nil {
					return err
				}
			}
			if !old {
				break
			}
			next.Dropped = event.Position
		}
		if dropped = next.Dropped - head.Dropped; err != nil || dropped == 0 {
			return err
		}
		return l.plain.Commit(ctx, Tx{Move: []Move{{From: head, To: next}}})
	})
	return dropped, err
}
