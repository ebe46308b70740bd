package landscape

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Class says what a payload is to a run, and so how long it is kept. Stored; never rename.
type Class string

// The classes of payloads that may be purged.
const (
	SourceClass  Class = "source"  // records as they were read
	DerivedClass Class = "derived" // what barriers gave and kept: it can be computed again of what was read
)

// DebuggingClass are no payloads: events of the outbox, and what runs staged that can no longer be resumed. It has a
// period as the others have.
const DebuggingClass Class = "debugging"

// Classes are all classes of payloads, in the order in which they are purged: what can be made again goes first.
var Classes = []Class{DerivedClass, SourceClass}

// Hold keeps payloads from being purged, whatever the rules say: those of one run, or of all runs of a pipeline that began in a time.
type Hold struct {
	ID       int64  `db:"hold_id,key"` // from 1; set by Log
	Run      string `db:"run_id"`      // or empty
	Pipeline string `db:"pipeline"`    // or empty
	From     Micros `db:"from_us,null"`
	Until    Micros `db:"until_us,null"` // the first moment that is not in it; zero: it has no end
	Actor    string `db:"actor"`
	Why      string `db:"why"`
	At       Micros `db:"at_us"` // set by Log
}

// HoldEnd says that a hold has ended.
type HoldEnd struct {
	ID    int64  `db:"hold_id,key"`
	Actor string `db:"actor"`
	Why   string `db:"why"`
	At    Micros `db:"at_us"` // set by Log
}

// Purge is an order to delete payloads.
type Purge struct {
	ID    int64  `db:"purge_id,key"` // from 1; set by Log
	Actor string `db:"actor"`
	Why   string `db:"why"`
	Rules string `db:"rules"` // JSON object: how long payloads of which class are kept
	At    Micros `db:"at_us"` // set by Log
}

// PurgedRun is what a purge is about: the payloads of one class that a run may need.
type PurgedRun struct {
	Purge int64  `db:"purge_id,key"`
	Run   string `db:"run_id,key"`
	Class Class  `db:"class,key"`
	Epoch int64  `db:"epoch"`  // in which the run has ended; once it is resumed, it needs its payloads
	Due   Micros `db:"due_us"` // from when on it may do without
}

// Deletion says that a payload may be deleted from here on. Until it is deleted and was stored again, nobody may refer to it.
type Deletion struct {
	Payload string `db:"payload,key"`
	Number  int64  `db:"number,key"` // from 1: how often it was deleted
	Purge   int64  `db:"purge_id"`
	At      Micros `db:"at_us,first"`
}

// DeletedPayload says that a payload is deleted.
type DeletedPayload struct {
	Payload string `db:"payload,key"`
	Number  int64  `db:"number,key"`
	Bytes   int64  `db:"bytes,first"`
	At      Micros `db:"at_us,first"`
}

// ReturnedPayload says that a payload that was deleted is stored again, for a run that read the same once more.
type ReturnedPayload struct {
	Payload string `db:"payload,key"`
	Number  int64  `db:"number,key"`
	Run     string `db:"run_id,first"`
	At      Micros `db:"at_us,first"`
}

// Table returns holds.
func (Hold) Table() string { return "holds" }

// Table returns hold_ends.
func (HoldEnd) Table() string { return "hold_ends" }

// Table returns purges.
func (Purge) Table() string { return "purges" }

// Table returns purged_runs.
func (PurgedRun) Table() string { return "purged_runs" }

// Table returns deletions.
func (Deletion) Table() string { return "deletions" }

// Table returns deleted_payloads.
func (DeletedPayload) Table() string { return "deleted_payloads" }

// Table returns returned_payloads.
func (ReturnedPayload) Table() string { return "returned_payloads" }

// ErrPurged says that a payload to which a record refers was purged, or is being purged. Nothing was stored. Once it is deleted, it may be
// stored again: see Log.Keep.
var ErrPurged = errors.New("a payload was purged: it must be stored again")

// ErrInUse says that a payload cannot be purged: a run that the order is not about needs it, or is held. Nothing was stored.
var ErrInUse = errors.New("the payload is in use")

// Purged is a payload that was purged, or is being purged, and was not stored again since.
type Purged struct {
	Deletion
	Deleted *DeletedPayload // nil: it is being deleted
	Order   Purge
}

// String says by whom it was purged, and why.
func (p Purged) String() string {
	moment := p.At
	if p.Deleted != nil {
		moment = p.Deleted.At
	}
	order := p.Order
	order.At = moment
	return order.Told()
}

// Purged returns what is recorded of the purge of a payload; nil if it was not purged, or was stored again.
func (r *Reader) Purged(ctx context.Context, payload string) (*Purged, error) {
	last, err := lastOf[Deletion](ctx, r.from, payload)
	if err != nil || last == nil {
		return nil, err
	}
	back, err := Select[ReturnedPayload](ctx, r.from, payload, last.Number)
	if err != nil || back != nil {
		return nil, err
	}
	purged := &Purged{Deletion: *last}
	deleted, err := Select[DeletedPayload](ctx, r.from, payload, last.Number)
	if err != nil {
		return nil, err
	}
	if deleted != nil {
		purged.Deleted = &deleted[0]
	}
	purged.Order, err = get[Purge](ctx, r.from, last.Purge)
	return purged, err
}

// keeps is how often Keep tries again because a payload was purged meanwhile.
const keeps = 8

// Keep stores payloads and records what refers to them, so that no purge comes between the two: record fails with ErrPurged if one of the
// payloads was purged, and perhaps deleted after store had found it there. Then store is called once more, and only then it is recorded that
// the payload is stored again. While one is being deleted the error wraps ErrPurged: a later call works, once the purge is done.
//
// store returns the digests of what it stored; it must be safe to repeat, and so must record.
func (l *Log) Keep(ctx context.Context, run string, store func() (payloads []string, err error), record func() error) error {
	payloads, err := store()
	if err != nil {
		return err
	}
	for range keeps {
		if err = record(); !errors.Is(err, ErrPurged) {
			return err
		}
		gone, found := l.deletedOf(ctx, payloads)
		if found != nil {
			return errors.Join(err, found)
		}
		if payloads, found = store(); found != nil {
			return found
		}
		if found := l.insert(ctx, returned(run, gone, l.now())...); found != nil {
			return found
		}
	}
	return err
}

// deletedOf returns which of some payloads are deleted. It is an error if one of them is being deleted.
func (l *Log) deletedOf(ctx context.Context, payloads []string) (gone []DeletedPayload, err error) {
	slices.Sort(payloads)
	for _, payload := range slices.Compact(payloads) {
		purged, err := l.Purged(ctx, payload)
		switch {
		case err != nil:
			return nil, err
		case purged == nil:
		case purged.Deleted == nil:
			return nil, fmt.Errorf("payload %s is being deleted by purge %d: it is stored again when that is done; if its process has died, `waymark purge` finishes it",
				payload, purged.Purge)
		default:
			gone = append(gone, *purged.Deleted)
		}
	}
	return gone, nil
}

func returned(run string, gone []DeletedPayload, now Micros) []Record {
	records := make([]Record, len(gone))
	for i, d := range gone {
		records[i] = ReturnedPayload{Payload: d.Payload, Number: d.Number, Run: run, At: now}
	}
	return records
}

// AddHold records a hold, and returns it as it is recorded. Its run or its pipeline must be given, and not both.
func (l *Log) AddHold(ctx context.Context, hold Hold) (Hold, error) {
	if (hold.Run == "") == (hold.Pipeline == "") {
		return hold, errors.New("hold: name a run or a pipeline")
	}
	if hold.Run != "" {
		if _, err := get[RunHead](ctx, l, hold.Run); err != nil {
			return hold, err
		}
	}
	err := settle(hold.Table(), func() error {
		last, err := lastOf[Hold](ctx, l)
		if err != nil {
			return err
		}
		hold.ID, hold.At = 1, l.now()
		if last != nil {
			hold.ID = last.ID + 1
		}
		return l.insert(ctx, hold)
	})
	return hold, err
}

// EndHold records that a hold has ended. The error wraps ErrNotFound if there is none with this number; one that has ended stays as it is.
func (l *Log) EndHold(ctx context.Context, id int64, actor, why string) error {
	if _, err := get[Hold](ctx, l, id); err != nil {
		return err
	}
	ended, err := Select[HoldEnd](ctx, l, id)
	if err != nil {
		return err
	}
	if ended != nil {
		return fmt.Errorf("hold %d was ended by %s (%s)", id, ended[0].Actor, ended[0].Why)
	}
	return l.insert(ctx, HoldEnd{ID: id, Actor: actor, Why: why, At: l.now()})
}

// OpenHolds returns the holds that have not ended, by number.
func (r *Reader) OpenHolds(ctx context.Context) (open []Hold, err error) {
	holds, ended, err := r.Holds(ctx)
	for _, hold := range holds {
		if _, over := ended[hold.ID]; !over {
			open = append(open, hold)
		}
	}
	return open, err
}

// Holds returns all holds, by number, and which of them have ended.
func (r *Reader) Holds(ctx context.Context) (holds []Hold, ended map[int64]HoldEnd, err error) {
	holds, err = Select[Hold](ctx, r.from)
	if err != nil {
		return nil, nil, err
	}
	ends, err := Select[HoldEnd](ctx, r.from)
	ended = make(map[int64]HoldEnd, len(ends))
	for _, end := range ends {
		ended[end.ID] = end
	}
	return holds, ended, err
}

// Holds reports whether the hold is about a run.
func (h Hold) Holds(run RunHead) bool {
	if h.Run != "" {
		return h.Run == run.ID
	}
	return h.Pipeline == run.Pipeline && run.Started >= h.From && (h.Until == 0 || run.Started < h.Until)
}

// BeginPurge records an order to purge payloads of runs, and returns it as it is recorded. Purge of about is set. The error is a *NeedsOrderError if one
// person may not.
func (l *Log) BeginPurge(ctx context.Context, order Purge, about []PurgedRun) (Purge, error) {
	return l.beginPurge(ctx, order, about, func() error { return l.MayOrder(ctx, OrderPurge) })
}

// BeginDuePurge does what BeginPurge does, by periods that are in force: who must approve those has, and so no person
// orders the purge itself. The error wraps ErrPeriodsChanged if others are in force by now.
func (l *Log) BeginDuePurge(ctx context.Context, order Purge, about []PurgedRun, by RetentionPeriods) (Purge, error) {
	return l.beginPurge(ctx, order, about, func() error {
		now, _, err := l.Periods(ctx)
		if err == nil && (now == nil || *now != by) {
			err = ErrPeriodsChanged
		}
		return err
	})
}

func (l *Log) beginPurge(ctx context.Context, order Purge, about []PurgedRun, may func() error) (Purge, error) {
	err := settle(order.Table(), func() error {
		err := may()
		if err != nil {
			return err
		}
		if order, err = l.numbered(ctx, order); err != nil {
			return err
		}
		records := make([]Record, 0, 1+len(about))
		records = append(records, order)
		for _, run := range about {
			run.Purge = order.ID
			records = append(records, run)
		}
		tx := Tx{Insert: records}
		if err := l.executed(ctx, &tx, &order.ID); err != nil {
			return err
		}
		return l.driver.Commit(ctx, tx)
	})
	return order, err
}

// numbered returns an order with the next number, given now.
func (l *Log) numbered(ctx context.Context, order Purge) (Purge, error) {
	last, err := lastOf[Purge](ctx, l)
	order.ID, order.At = 1, l.now()
	if last != nil {
		order.ID = last.ID + 1
	}
	return order, err
}

// BeginDeletion records that payloads may be deleted, all or none of them. The error wraps ErrInUse if a run needs one of them to which the
// order is not about, or which is held or was resumed; a *DivergedError says that another purge has it. What is being deleted already,
// or is deleted, is left out of the result.
func (l *Log) BeginDeletion(ctx context.Context, purge int64, payloads ...string) (begun []Deletion, err error) {
	var records []Record
	for _, payload := range payloads {
		next, err := l.nextDeletion(ctx, purge, payload)
		if err != nil {
			return nil, err
		}
		if next != nil {
			begun, records = append(begun, *next), append(records, *next)
		}
	}
	if records == nil {
		return nil, nil
	}
	return begun, l.insert(ctx, records...)
}

// nextDeletion returns the deletion of a payload that a purge may begin; nil if it is being deleted, or is deleted.
func (l *Log) nextDeletion(ctx context.Context, purge int64, payload string) (*Deletion, error) {
	last, err := lastOf[Deletion](ctx, l, payload)
	if err != nil {
		return nil, err
	}
	next := &Deletion{Payload: payload, Number: 1, Purge: purge, At: l.now()}
	if last != nil {
		back, err := Select[ReturnedPayload](ctx, l, payload, last.Number)
		if err != nil || back == nil {
			return nil, err
		}
		next.Number = last.Number + 1
	}
	return next, nil
}

// EndDeletion records that payloads are deleted, and how long they were. It may be repeated.
func (l *Log) EndDeletion(ctx context.Context, deleted ...DeletedPayload) error {
	if len(deleted) == 0 {
		return nil
	}
	records := make([]Record, len(deleted))
	for i, d := range deleted {
		d.At = l.now()
		records[i] = d
	}
	return l.insert(ctx, records...)
}

// EachUnfinished calls yield with every deletion that was begun and is not done, until it returns false.
func (r *Reader) EachUnfinished(ctx context.Context, yield func(Deletion) bool) error {
	done := map[string]int64{}
	err := each(ctx, r.from, nil, func(d DeletedPayload) bool { done[d.Payload] = max(done[d.Payload], d.Number); return true })
	if err != nil {
		return err
	}
	return each(ctx, r.from, nil, func(d Deletion) bool { return done[d.Payload] >= d.Number || yield(d) })
}

// EachPurged calls yield with every payload that was purged, or is being purged, and was not stored again, by digest, until it returns false.
func (r *Reader) EachPurged(ctx context.Context, yield func(payload string) bool) error {
	back := map[string]int64{}
	err := each(ctx, r.from, nil, func(p ReturnedPayload) bool { back[p.Payload] = p.Number; return true }) // the last one of each stays
	if err != nil {
		return err
	}
	return each(ctx, r.from, nil, func(d Deletion) bool { return d.Number <= back[d.Payload] || yield(d.Payload) })
}

// FirstPurged returns the first payload of a run that was purged, or is being purged; nil if all that may be purged is stored
// as the run read it. One with records that were forgotten counts as purged, also if another run has stored the same again;
// for that run itself it does not matter by what it was replaced before, and what became of that.
func (r *Reader) FirstPurged(ctx context.Context, run string) (first *Purged, err error) {
	some, err := Page[Deletion](ctx, r.from, Query{Limit: 1})
	if err != nil || some == nil {
		return nil, err
	}
	if first, err = r.firstForgotten(ctx, run); err != nil || first != nil {
		return first, err
	}
	for _, class := range Classes {
		var payloads []string
		add := func(payload string) bool { payloads = append(payloads, payload); return true }
		if err := r.originalsOf(ctx, run, class, add); err != nil {
			return nil, err
		}
		for _, payload := range payloads {
			if first, err = r.Purged(ctx, payload); err != nil || first != nil {
				return first, err
			}
		}
	}
	return nil, nil //nolint:nilnil // nothing was purged
}

// firstForgotten returns the order that forgot a row of a run, with the payload that held it; nil if none was forgotten.
func (r *Reader) firstForgotten(ctx context.Context, run string) (*Purged, error) {
	rows, err := Page[Forgotten](ctx, r.from, Query{Prefix: []any{run}, Limit: 1})
	if err != nil || rows == nil {
		return nil, err
	}
	chunk, err := r.Chunk(ctx, run, ChunkKey{rows[0].Source, rows[0].Chunk})
	if err != nil {
		return nil, err
	}
	order, err := get[Purge](ctx, r.from, rows[0].Order)
	return &Purged{Deletion: Deletion{Payload: chunk.Pack, Purge: order.ID, At: order.At}, Order: order}, err
}

// PurgesOf returns the orders to purge or to forget that were about a run and given after a time, by number; nil if there is none.
func (r *Reader) PurgesOf(ctx context.Context, run string, after Micros) (orders []Purge, err error) {
	covers := map[int64]bool{}
	err = each(ctx, r.from, nil, func(p PurgedRun) bool {
		covers[p.Purge] = covers[p.Purge] || p.Run == run
		return true
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, r.from, nil, func(p Purge) bool {
		if covers[p.ID] && p.At > after {
			orders = append(orders, p)
		}
		return true
	})
	return orders, err
}

// ChunkRef is what of a chunk says which payload it needs, and where its rows are.
type ChunkRef struct {
	Run      string `db:"run_id,key"`
	Source   string `db:"source,key"`
	Chunk    int64  `db:"chunk,key"`
	FirstRow int64  `db:"first_row"`
	Pack     string `db:"pack"`
}

// Table returns chunks.
func (ChunkRef) Table() string { return Chunk{}.Table() }

// EachChunkRef calls yield with every chunk of every run, by key, until it returns false.
func (r *Reader) EachChunkRef(ctx context.Context, yield func(ChunkRef) bool) error {
	return each(ctx, r.from, nil, yield)
}

// EachStateRef calls yield with the state of every fold of every run that has one, until it returns false.
func (r *Reader) EachStateRef(ctx context.Context, yield func(run, state string) bool) error {
	return each(ctx, r.from, nil, func(f stateOfFold) bool { return f.State == "" || yield(f.Run, f.State) })
}
