package landscape

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/plugin"
)

// ArrivalState is what became of an arrival. Stored; never rename one.
type ArrivalState string

// What becomes of an arrival.
const (
	ArrivalReady   ArrivalState = "ready"   // it waits for a run
	ArrivalTaken   ArrivalState = "taken"   // it is on the list of a run that is not complete
	ArrivalDone    ArrivalState = "done"    // that run is complete
	ArrivalIgnored ArrivalState = "ignored" // no run is wanted; Reason says why
	ArrivalGone    ArrivalState = "gone"    // it was removed, or changed, before a run took it
)

// Arrival is one file as a trigger found it, one output that another pipeline published, or what was delivered to the trigger. A file that changes is another revision of its item.
type Arrival struct {
	Trigger  string `db:"trigger,key"`
	Item     string `db:"item,key"`     // path of the file, or name of the delivery, as sources name it; of an output what OutputItem returns
	Revision int64  `db:"revision,key"` // from 0
	ArrivalFacts
}

// Table returns arrivals.
func (Arrival) Table() string { return "arrivals" }

// ArrivalFacts is what is recorded of an arrival.
type ArrivalFacts struct {
	Place   string       `db:"place"`           // JSON: plugin.FileInfo, or ArrivedOutput
	Payload string       `db:"payload"`         // digest of the payload that holds what was delivered; empty for a file
	At      Micros       `db:"arrived_us"`      // when it was found to be ready; set by Log
	Changes int64        `db:"changes,move"`    // how often what follows has changed; set by Log
	State   ArrivalState `db:"state,move"`      //
	Run     string       `db:"run_id,move"`     // that took it; empty if none has it
	Reason  string       `db:"reason,move"`     // one sentence for people; empty if nothing is to be said
	Changed Micros       `db:"changed_us,move"` // set by Log
}

// File returns the file as it was found.
func (a Arrival) File() (file plugin.FileInfo, err error) {
	return file, a.read(&file)
}

// read reads the place into what it is of.
func (a Arrival) read(place any) error {
	if err := json.Unmarshal([]byte(a.Place), place); err != nil {
		return incomplete("arrival %s of trigger %s: place: %v", a.Item, a.Trigger, err)
	}
	return nil
}

// NewArrival returns what is recorded first of a file that a trigger found.
func NewArrival(trigger string, revision int64, file plugin.FileInfo) Arrival {
	a := arrivalAt(trigger, file.Path, file)
	a.Revision = revision
	return a
}

// arrivalAt returns what is recorded first of an item that waits for a run. place is what read reads.
func arrivalAt(trigger, item string, place any) Arrival {
	text, err := json.Marshal(place)
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	return Arrival{Trigger: trigger, Item: item, ArrivalFacts: ArrivalFacts{Place: string(text), State: ArrivalReady}}
}

// NewDelivery returns what is recorded first of something that was delivered to a trigger, and that the payload
// holds. id is the digest of the id under which it came; empty if only its receipt tells it from others.
func NewDelivery(trigger string, file plugin.FileInfo, payload, id string) Arrival {
	a := arrivalAt(trigger, file.Path, deliveredFile{file, id})
	a.Payload = payload
	return a
}

// deliveredFile is the place of a delivery.
type deliveredFile struct {
	plugin.FileInfo
	ID string `json:"id,omitempty"`
}

// DeliveryID returns the digest of the id under which a delivery came first; empty if it has none.
func (a Arrival) DeliveryID() (string, error) {
	var place deliveredFile
	err := a.read(&place)
	return place.ID, err
}

// ArrivalRun says that an arrival is on the list of a run.
type ArrivalRun struct {
	Run      string `db:"run_id,key"`
	Place    int64  `db:"place,key"` // on the list, from 0: the order in which the run reads
	Trigger  string `db:"trigger"`
	Item     string `db:"item"`
	Revision int64  `db:"revision"`
	At       Micros `db:"at_us"` // set by Log
}

// Table returns arrival_runs.
func (ArrivalRun) Table() string { return "arrival_runs" }

// Watch is how far a trigger has been looked after. One process at a time does that: each thing that it records moves Turn on, and is recorded only if
// nobody else did before. One that sees the turn stand still for long enough, by its own clock, may take over.
type Watch struct {
	Trigger  string `db:"trigger,key"`
	Turn     int64  `db:"turn,move"`
	Looked   Micros `db:"looked_us,move"`  // the last recorded look; 0 if there is none
	Waiting  int64  `db:"unready,move"`    // files that were found then and were not ready yet
	Error    string `db:"error,move"`      // why the last look failed; empty if it did not
	Position int64  `db:"position,move"`   // of the last event of the outbox that a trigger after another pipeline has looked at; 0 for any other trigger
	Changed  Micros `db:"changed_us,move"` // set by Log
}

// Table returns watches.
func (Watch) Table() string { return "watches" }

// Watch returns how far a trigger has been looked after: the zero Watch of it if nobody has.
func (r *Reader) Watch(ctx context.Context, trigger string) (Watch, error) {
	w, err := get[Watch](ctx, r.from, trigger)
	if errors.Is(err, ErrNotFound) {
		return Watch{Trigger: trigger}, nil
	}
	return w, err
}

// ArrivalChange is one arrival that is recorded for the first time, or changes.
type ArrivalChange struct {
	From *Arrival // as it was read; nil for a new one
	To   Arrival
}

// ChangeArrivals records changes of arrivals of one trigger, and moves its turn on: all or nothing. It returns the watch as it is then; of next, what
// Log does not set counts, and in the changes it sets what Log sets. The error wraps ErrTurnLost if another process did something for the trigger since from was read: then nothing is recorded.
func (l *Log) ChangeArrivals(ctx context.Context, from, next Watch, changes []ArrivalChange) (Watch, error) {
	return l.changeArrivals(ctx, from, next, changes, nil)
}

// Take records that somebody asks for a run, and which arrivals it takes, in their order: all or nothing. The start is that of a run of which nothing is
// recorded; the arrivals become what is recorded of them then. The rest is as with ChangeArrivals.
func (l *Log) Take(ctx context.Context, from Watch, start Start, taken []Arrival) (Watch, error) {
	now := l.now()
	start.State, start.Accepted = StartAccepted, now
	records := []Record{start}
	changes := make([]ArrivalChange, len(taken))
	for i := range taken {
		to := taken[i]
		to.State, to.Run, to.Reason = ArrivalTaken, start.Run, ""
		from := taken[i]
		changes[i] = ArrivalChange{From: &from, To: to}
		records = append(records, ArrivalRun{start.Run, int64(i), to.Trigger, to.Item, to.Revision, now})
	}
	next, err := l.changeArrivals(ctx, from, from, changes, records)
	for i := range changes {
		if err == nil {
			taken[i] = changes[i].To
		}
	}
	return next, err
}

// changeArrivals does what ChangeArrivals does, and stores other records with it.
func (l *Log) changeArrivals(ctx context.Context, from, next Watch, changes []ArrivalChange, besides []Record) (Watch, error) {
	now := l.now()
	next.Trigger, next.Turn, next.Changed = from.Trigger, from.Turn+1, now
	tx := Tx{Move: []Move{{From: from, To: next}}}
	if from.Turn == 0 { // nobody may have looked after the trigger yet
		tx.Insert = append(tx.Insert, Watch{Trigger: from.Trigger})
	}
	tx.Insert = append(tx.Insert, besides...)
	for i, change := range changes {
		to := &changes[i].To
		to.Changed = now
		if change.From == nil {
			to.At = now
			tx.Insert = append(tx.Insert, *to)
			continue
		}
		to.Changes = change.From.Changes + 1
		tx.Move = append(tx.Move, Move{From: *change.From, To: *to})
	}
	err := l.plain.Commit(ctx, tx)
	if diverged, is := errors.AsType[*DivergedError](err); errors.Is(err, ErrStale) || is && diverged.Table == (Arrival{}).Table() {
		err = ErrTurnLost
	}
	if err != nil {
		return from, fmt.Errorf("arrivals of trigger %s: %w", from.Trigger, err)
	}
	return next, nil
}

// Receive records something that was delivered to a trigger. An item that is recorded already stays as it is: so it may be repeated. It needs no turn: nobody looks for what
// is delivered. The error wraps ErrPurged if the payload was purged, or is being purged.
func (l *Log) Receive(ctx context.Context, a Arrival) error {
	a.At = l.now()
	a.Changed = a.At
	err := l.plain.Commit(ctx, Tx{Insert: []Record{a}})
	if diverged, is := errors.AsType[*DivergedError](err); is && diverged.Table == a.Table() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delivery to trigger %s: %w", a.Trigger, err)
	}
	return nil
}

// arrivalInState is an Arrival by its state and then by when it arrived.
type arrivalInState struct {
	In       ArrivalState `db:"state,key"`
	Trigger  string       `db:"trigger,key"`
	Since    Micros       `db:"arrived_us,key"`
	Item     string       `db:"item,key"`
	Revision int64        `db:"revision,key"`
	ArrivalFacts
}

// Table returns arrivals.
func (arrivalInState) Table() string { return Arrival{}.Table() }

// ArrivalsInState returns the arrivals of a trigger that are in a state, the oldest first, at most so many, or all with the limit 0; nil if there is none.
func (r *Reader) ArrivalsInState(ctx context.Context, trigger string, state ArrivalState, limit int) (found []Arrival, err error) {
	err = r.from.Read(ctx, arrivalInState{}, Query{Prefix: []any{string(state), trigger}, Limit: limit}, func(record Record) bool {
		a := record.(arrivalInState)
		found = append(found, Arrival{a.Trigger, a.Item, a.Revision, a.ArrivalFacts})
		return true
	})
	return found, err
}

// ArrivalBacklog returns how many arrivals of a trigger wait for a run, and when the oldest of them arrived; 0 if none waits.
func (r *Reader) ArrivalBacklog(ctx context.Context, trigger string) (waiting int64, oldest Micros, err error) {
	err = each(ctx, r.from, []any{string(ArrivalReady), trigger}, func(a waitingArrival) bool {
		if waiting++; waiting == 1 {
			oldest = a.Since
		}
		return true
	})
	return waiting, oldest, err
}

// ArrivalsLeft returns how many items of a trigger are in a state with their last revision: one that arrived again since is not counted.
func (r *Reader) ArrivalsLeft(ctx context.Context, trigger string, state ArrivalState) (n int64, err error) {
	var found []waitingArrival
	err = each(ctx, r.from, []any{string(state), trigger}, func(a waitingArrival) bool { found = append(found, a); return true })
	for _, a := range found {
		if err != nil {
			return 0, err
		}
		var last Arrival
		if last, err = r.LastArrival(ctx, trigger, a.Item); err == nil && last.Revision == a.Revision {
			n++
		}
	}
	return n, err
}

// waitingArrival is the key of an arrivalInState.
type waitingArrival struct {
	In       ArrivalState `db:"state,key"`
	Trigger  string       `db:"trigger,key"`
	Since    Micros       `db:"arrived_us,key"`
	Item     string       `db:"item,key"`
	Revision int64        `db:"revision,key"`
}

// Table returns arrivals.
func (waitingArrival) Table() string { return Arrival{}.Table() }

// LastArrivals calls yield with the last revision of every item that a trigger found, by item, until it returns false. yield must not use the reader.
func (r *Reader) LastArrivals(ctx context.Context, trigger string, yield func(Arrival) bool) error {
	var last *Arrival
	err := each(ctx, r.from, []any{trigger}, func(a Arrival) bool {
		if last != nil && last.Item != a.Item && !yield(*last) {
			last = nil
			return false
		}
		last = &a
		return true
	})
	if err == nil && last != nil {
		yield(*last)
	}
	return err
}

// LastArrival returns the last revision of an item that a trigger found. The error wraps ErrNotFound if it found none.
func (r *Reader) LastArrival(ctx context.Context, trigger, item string) (Arrival, error) {
	last, err := lastOf[Arrival](ctx, r.from, trigger, item)
	if err == nil && last == nil {
		err = fmt.Errorf("arrival %s of trigger %s: %w", item, trigger, ErrNotFound)
	}
	if err != nil {
		return Arrival{}, err
	}
	return *last, nil
}

// TriggerOfRun returns the id of the trigger that a run was begun for; empty if it was begun for none.
func (r *Reader) TriggerOfRun(ctx context.Context, run string) (string, error) {
	found, err := Page[ArrivalRun](ctx, r.from, Query{Prefix: []any{run}, Limit: 1})
	if err != nil || found == nil {
		return "", err
	}
	return found[0].Trigger, nil
}

// ArrivalOf returns what arrived and is on the list of a run, by its item. The error wraps ErrNotFound if nothing is, such as of a run that was not begun for what arrived.
func (r *Reader) ArrivalOf(ctx context.Context, run, item string) (Arrival, error) {
	trigger, err := r.TriggerOfRun(ctx, run)
	if err != nil {
		return Arrival{}, err
	}
	list, err := Select[Arrival](ctx, r.from, trigger, item)
	for _, a := range list {
		if a.Run == run {
			return a, err
		}
	}
	return Arrival{}, cmp.Or(err, fmt.Errorf("arrival %s of run %s: %w", item, run, ErrNotFound))
}

// ListOfRun returns which arrivals are on the list of a run, in its order, also those that it gave back; nil if it was not begun for any.
func (r *Reader) ListOfRun(ctx context.Context, run string) ([]ArrivalRun, error) {
	return Select[ArrivalRun](ctx, r.from, run)
}

// ArrivalsOfRun returns the arrivals on the list of a run, in its order; nil if it was not begun for any.
func (r *Reader) ArrivalsOfRun(ctx context.Context, run string) (list []Arrival, err error) {
	places, err := r.ListOfRun(ctx, run)
	for _, place := range places {
		if err != nil {
			return nil, err
		}
		var a Arrival
		a, err = get[Arrival](ctx, r.from, place.Trigger, place.Item, place.Revision)
		list = append(list, a)
	}
	return list, err
}
