package landscape

import (
	"context"
	"errors"
	"fmt"

	"waymark/pipeline"
	"waymark/pipeline/calendar"
)

// SlotState is what became of a slot of time. Stored; never rename one.
type SlotState string

// What becomes of a slot.
const (
	SlotDue     SlotState = "due"     // its run is to begin; Reason says what it waits for
	SlotRunning SlotState = "running" // its run was begun and has not ended
	SlotDone    SlotState = "done"    // its run is complete
	SlotFailed  SlotState = "failed"  // its run, or its start, failed permanently
	SlotSkipped SlotState = "skipped" // no run is wanted
	SlotMissed  SlotState = "missed"  // nobody began its run in time; somebody may ask for it
)

// Slot is one interval of time for which a schedule begins one run, and what became of that. A slot has one row for ever.
type Slot struct {
	Schedule string `db:"schedule,key"`
	Name     string `db:"slot,key"` // such as 2026-11-21
	SlotFacts
}

// Table returns slots.
func (Slot) Table() string { return "slots" }

// SlotFacts is what is recorded of a slot.
type SlotFacts struct {
	From     Micros    `db:"from_us"`          // the first instant that it covers
	To       Micros    `db:"to_us"`            // the first instant after it
	Due      Micros    `db:"due_us"`           // when the schedule fires for it
	Deadline Micros    `db:"deadline_us,null"` // by when its output is promised; zero for no promise
	Fired    bool      `db:"fired"`            // by the schedule; else somebody asked for it before, or long after
	Changes  int64     `db:"changes,move"`     // how often what follows has changed
	State    SlotState `db:"state,move"`
	Run      string    `db:"run_id,move"`       // its last run; empty if there is none
	Attempts int64     `db:"attempts,move"`     // how often a run was begun, or resumed, for it
	Seen     int64     `db:"seen,move"`         // how many starts and resumptions of that run were recorded when the last attempt began
	Reason   string    `db:"reason,move"`       // one sentence for people; empty if nothing is to be said
	Request  string    `db:"request,move"`      // what a person asked for that it is part of; empty if the schedule fired
	Ready    Micros    `db:"ready_us,move"`     // before which no run begins for it
	Late     Micros    `db:"late_us,move,null"` // when it was found to be late; zero if it was not
	Changed  Micros    `db:"changed_us,move"`   // set by Log
}

// SlotEvent is one change of a slot.
type SlotEvent struct {
	Schedule string    `db:"schedule,key"`
	Slot     string    `db:"slot,key"`
	Seq      int64     `db:"seq,key"` // from 0
	Event    string    `db:"event"`   // the state that the slot came into, or: late, recovered
	State    SlotState `db:"state"`   // the slot's after the change, as are those that follow
	Run      string    `db:"run_id"`
	Attempt  int64     `db:"attempt"`
	Reason   string    `db:"reason"`
	Request  string    `db:"request"`
	At       Micros    `db:"at_us"`
}

// Table returns slot_events.
func (SlotEvent) Table() string { return "slot_events" }

// The events that are no states. Stored; never rename one.
const (
	SlotLate      = "late"      // its output is not there by the time for which it is promised
	SlotRecovered = "recovered" // the output of a late slot is there
)

// NewSlot returns a slot of a schedule of which nothing is recorded yet: due, because the schedule fired for it or a
// person asked.
func NewSlot(schedule string, slot calendar.Slot, fired bool) Slot {
	return Slot{Schedule: schedule, Name: slot.Name, SlotFacts: SlotFacts{
		From: MicrosOf(slot.From), To: MicrosOf(slot.To), Due: MicrosOf(slot.Due),
		Fired: fired, State: SlotDue, Ready: MicrosOf(slot.Start),
	}}
}

// OfTime returns what the slot covers and when it was due, as recorded. What only a calendar says is left out.
func (s Slot) OfTime() calendar.Slot {
	due := s.Due.Time()
	return calendar.Slot{
		Name: s.Name, From: s.From.Time(), To: s.To.Time(), Due: due, Start: due, Part: calendar.PartOf(s.Name),
	}
}

// SlotRequest is what a person asked for: runs for slots, whatever the schedule fired for.
type SlotRequest struct {
	ID       string `db:"request,key"`
	Schedule string `db:"schedule"`
	Action   string `db:"action"`      // run, backfill, retry, skip or make_up
	First    string `db:"first"`       // the name of the first slot
	Last     string `db:"last"`        // the name of the last
	AtOnce   int64  `db:"at_once"`     // how many of its runs may go on at a time
	Version  int64  `db:"version"`     // of the pipeline, for all its runs; 0 for the one that is current
	Actor    string `db:"actor"`       // who asked
	Why      string `db:"why"`         // what that said
	At       Micros `db:"accepted_us"` // set by Log
}

// Table returns slot_requests.
func (SlotRequest) Table() string { return "slot_requests" }

// SlotChange is one slot that is recorded for the first time, or changes.
type SlotChange struct {
	From  *Slot  // as it was read; nil for a new one
	To    Slot   // Changes and Changed are set by Log
	Event string // empty for the word of the state
}

// ChangeSlots records changes of slots, and the request that they are part of, if that is not nil: all or none. The error is ErrStale, or a
// *DivergedError of the table of slots or their events, if somebody else changed one of them meanwhile: read again and decide again.
func (l *Log) ChangeSlots(ctx context.Context, request *SlotRequest, changes []SlotChange) error {
	if request == nil && len(changes) == 0 {
		return nil
	}
	return l.changeSlots(ctx, l.now(), request, changes)
}

func (l *Log) changeSlots(ctx context.Context, now Micros, request *SlotRequest, changes []SlotChange) error {
	var tx Tx
	var events []Record
	if request != nil {
		row := *request
		row.At = now
		tx.Insert = append(tx.Insert, row)
	}
	for _, change := range changes {
		to := change.To
		to.Changed = now
		if change.From != nil {
			to.Changes = change.From.Changes + 1
			tx.Move = append(tx.Move, Move{From: *change.From, To: to})
		} else {
			to.Changes = 0
			tx.Insert = append(tx.Insert, to)
		}
		changed := eventOf(to, change.Event)
		tx.Insert = append(tx.Insert, changed)
		if event, told := changed.event(); told {
			events = append(events, event)
		}
	}
	tx.Insert = append(tx.Insert, events...)
	return l.plain.Commit(ctx, tx)
}

// TakeSlot records that the run of a slot is one that somebody began by hand, as fresh says if nothing is recorded of the slot, unless it is done or
// has a run that continues. by is who did, and why. Its request has the id of the run. It may be repeated.
func (l *Log) TakeSlot(ctx context.Context, fresh Slot, run string, by SlotRequest) error {
	by.ID, by.Schedule, by.Action, by.First, by.Last, by.AtOnce = run, fresh.Schedule, "run", fresh.Name, fresh.Name, 1
	return SettleSlots(func() error { return l.takeSlot(ctx, fresh, by) })
}

func (l *Log) takeSlot(ctx context.Context, fresh Slot, by SlotRequest) error {
	var from *Slot
	slot, err := l.Slot(ctx, fresh.Schedule, fresh.Name)
	switch {
	case err == nil:
		from = &slot
	case !errors.Is(err, ErrNotFound):
		return err
	}
	due, request := fresh, &by
	if from != nil {
		due = slot
	}
	if taken, err := l.taken(ctx, due, by.ID); err != nil || taken {
		return err
	}
	if _, err := l.SlotRequest(ctx, by.ID); err == nil { // the same run was to begin before
		request = nil
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	due.State, due.Reason, due.Request = SlotDue, "", by.ID // only from there a run begins
	running := due
	running.State, running.Run, running.Seen, running.Attempts = SlotRunning, by.ID, 0, due.Attempts+1
	now := l.now()
	return l.changeSlots(ctx, now, request, steps(from, now, due, running))
}

// taken reports whether a slot is done, or has a run that continues, or is that of the run already.
func (l *Log) taken(ctx context.Context, slot Slot, run string) (bool, error) {
	if slot.State != SlotRunning || slot.Run == run {
		return slot.State == SlotDone || slot.State == SlotRunning, nil
	}
	on, err := get[RunHead](ctx, l, slot.Run)
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	switch on.Status {
	case pipeline.Running, pipeline.Completed, pipeline.CompletedWithFailures, pipeline.Empty:
		return true, err
	}
	return false, err // nobody may have looked yet at one that failed
}

// steps are the changes of a slot that one transaction makes at a moment, each from the one before.
func steps(from *Slot, now Micros, slots ...Slot) (changes []SlotChange) {
	for _, to := range slots {
		changes = append(changes, SlotChange{From: from, To: to})
		to.Changed = now
		if from != nil {
			to.Changes = from.Changes + 1
		}
		from = &to
	}
	return changes
}

// ByHand reports whether the last run of the slot is one that somebody began by hand.
func (s Slot) ByHand() bool { return s.Run != "" && s.Request == s.Run }

// Raced reports whether changes of slots were not stored because somebody else was first.
func Raced(err error) bool {
	diverged, ok := errors.AsType[*DivergedError](err)
	return errors.Is(err, ErrStale) || ok && (diverged.Table == Slot{}.Table() || diverged.Table == SlotEvent{}.Table())
}

// SettleSlots repeats try, which reads slots, decides and changes them, while somebody else was first. After a hundred
// times it returns an error for which Raced holds.
func SettleSlots(try func() error) error {
	var err error
	for range retries {
		if err = try(); !Raced(err) {
			return err
		}
	}
	return fmt.Errorf("slots changed meanwhile each of the %d times that a change was tried: %w", retries, err)
}

func eventOf(s Slot, event string) SlotEvent {
	if event == "" {
		event = string(s.State)
	}
	return SlotEvent{
		Schedule: s.Schedule, Slot: s.Name, Seq: s.Changes, Event: event, State: s.State, Run: s.Run, Attempt: s.Attempts, Reason: s.Reason, Request: s.Request,
		At: s.Changed,
	}
}

// Slot returns a slot of a schedule. The error wraps ErrNotFound if it is not recorded.
func (r *Reader) Slot(ctx context.Context, schedule, name string) (Slot, error) {
	return get[Slot](ctx, r.from, schedule, name)
}

// SlotEvents returns the changes of a slot, the first first; nil if it is not recorded.
func (r *Reader) SlotEvents(ctx context.Context, schedule, name string) ([]SlotEvent, error) {
	return Select[SlotEvent](ctx, r.from, schedule, name)
}

// SlotRequest returns what a person asked for. The error wraps ErrNotFound if that is not recorded.
func (r *Reader) SlotRequest(ctx context.Context, id string) (SlotRequest, error) {
	return get[SlotRequest](ctx, r.from, id)
}

// SlotRequests returns what people asked for, by the ids of some requests; those that are not recorded are left out.
func (r *Reader) SlotRequests(ctx context.Context, ids []string) (map[string]SlotRequest, error) {
	return byID(ctx, r, ids, Query{}, func(q SlotRequest) string { return q.ID })
}

// slotDue is a Slot by when it is due.
type slotDue struct {
	Schedule string `db:"schedule,key"`
	DueAt    Micros `db:"due_us,key"`
	Name     string `db:"slot,key"`
	SlotFacts
}

// Table returns slots.
func (slotDue) Table() string { return Slot{}.Table() }

func (s slotDue) slot() Slot { return Slot{s.Schedule, s.Name, s.SlotFacts} }

// slotInState is a Slot by its state and then by when it is due.
type slotInState struct {
	In       SlotState `db:"state,key"`
	Schedule string    `db:"schedule,key"`
	DueAt    Micros    `db:"due_us,key"`
	Name     string    `db:"slot,key"`
	SlotFacts
}

// Table returns slots.
func (slotInState) Table() string { return Slot{}.Table() }

func (s slotInState) slot() Slot { return Slot{s.Schedule, s.Name, s.SlotFacts} }

// slotOfRun is a Slot by its last run.
type slotOfRun struct {
	Of       string `db:"run_id,key"`
	Schedule string `db:"schedule,key"`
	Name     string `db:"slot,key"`
	SlotFacts
}

// Table returns slots.
func (slotOfRun) Table() string { return Slot{}.Table() }

// SlotsBetween returns the slots of a schedule that are due at an instant or later, and before another, in this order; nil if there is none.
func (r *Reader) SlotsBetween(ctx context.Context, schedule string, from, to Micros) (slots []Slot, err error) {
	q := Query{Prefix: []any{schedule}, After: []any{int64(from) - 1, maxText}}
	err = inPages(ctx, r.from, q, func(s slotDue) bool {
		if s.Due < to {
			slots = append(slots, s.slot())
		}
		return s.Due < to
	})
	return slots, err
}

// maxText comes after every name of a slot.
const maxText = "\U0010ffff"

// LastSlots returns the slots of a schedule that are due last, the last first, until yield returns false.
func (r *Reader) LastSlots(ctx context.Context, schedule string, yield func(Slot) bool) error {
	q := Query{Prefix: []any{schedule}, Descending: true}
	return inPages(ctx, r.from, q, func(s slotDue) bool { return yield(s.slot()) })
}

// fewSlots is how many slots of a schedule are recorded before they are due, at most, for those that were due last to be
// read together with those of other schedules.
const fewSlots = 8

// SlotsSince returns the slots of each of some schedules that are due after a moment, and the last one that is not, the
// last first, by schedule.
func (r *Reader) SlotsSince(ctx context.Context, schedules []string, now Micros) (map[string][]Slot, error) {
	slots := map[string][]Slot{}
	prefixes := make([][]any, len(schedules))
	for i, id := range schedules {
		prefixes[i] = []any{id}
	}
	add := func(slot Slot) (more bool) {
		of := slots[slot.Schedule]
		if more = len(of) == 0 || of[len(of)-1].Due > now; more {
			slots[slot.Schedule] = append(of, slot)
		}
		return more
	}
	err := eachOf(ctx, r, prefixes, Query{Descending: true, Limit: fewSlots}, func(s slotDue) { add(s.slot()) })
	for id, of := range slots {
		if err == nil && len(of) == fewSlots && of[fewSlots-1].Due > now { // many people asked for runs ahead of their time
			delete(slots, id)
			err = r.LastSlots(ctx, id, add)
		}
	}
	return slots, err
}

// SlotsNamed returns the slots of a schedule that have one of some names, by that; those that are not recorded are left
// out.
func (r *Reader) SlotsNamed(ctx context.Context, schedule string, names []string) (map[string]Slot, error) {
	prefixes := make([][]any, len(names))
	for i, name := range names {
		prefixes[i] = []any{schedule, name}
	}
	slots := map[string]Slot{}
	return slots, eachOf(ctx, r, prefixes, Query{}, func(slot Slot) { slots[slot.Name] = slot })
}

// SlotsInState returns the slots of a schedule that are in a state, by when they are due, at most so many, or all with the limit 0: those that are due
// first or, with newest, those that are due last, the last first. It is nil if there is none.
func (r *Reader) SlotsInState(ctx context.Context, schedule string, state SlotState, limit int, newest bool) (slots []Slot, err error) {
	err = r.from.Read(ctx, slotInState{}, Query{Prefix: []any{string(state), schedule}, Limit: limit, Descending: newest}, func(record Record) bool {
		slots = append(slots, record.(slotInState).slot())
		return true
	})
	return slots, err
}

// FailedSlots returns the slots of all schedules that failed, by schedule and by when they were due, at most so many; nil if there is none.
func (r *Reader) FailedSlots(ctx context.Context, limit int) (slots []Slot, err error) {
	err = r.from.Read(ctx, slotInState{}, Query{Prefix: []any{string(SlotFailed)}, Limit: limit}, func(record Record) bool {
		slots = append(slots, record.(slotInState).slot())
		return true
	})
	return slots, err
}

// SlotOfRun returns the slot whose last run this is. The error wraps ErrNotFound if it is none's.
func (r *Reader) SlotOfRun(ctx context.Context, run string) (Slot, error) {
	found, err := Page[slotOfRun](ctx, r.from, Query{Prefix: []any{run}, Limit: 1})
	if err == nil && found == nil {
		err = fmt.Errorf("slot of run %s: %w", run, ErrNotFound)
	}
	if err != nil {
		return Slot{}, err
	}
	return Slot{found[0].Schedule, found[0].Name, found[0].SlotFacts}, nil
}

// SlotBefore returns the slot of the same schedule, and of the same values, that is due before one, as the last of them. The error wraps ErrNotFound if
// there is none.
func (r *Reader) SlotBefore(ctx context.Context, slot Slot) (before Slot, err error) {
	found, part := false, calendar.PartOf(slot.Name)
	q := Query{Prefix: []any{slot.Schedule}, After: []any{int64(slot.Due), slot.Name}, Descending: true}
	err = inPages(ctx, r.from, q, func(s slotDue) bool {
		before = s.slot()
		found = calendar.PartOf(before.Name) == part
		return !found
	})
	if err == nil && !found {
		err = fmt.Errorf("slot before %s of schedule %s: %w", slot.Name, slot.Schedule, ErrNotFound)
	}
	if err != nil {
		return Slot{}, err
	}
	return before, nil
}
