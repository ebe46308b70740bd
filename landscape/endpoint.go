package landscape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// EndpointAction is how an endpoint became what it is. Stored; never rename one.
type EndpointAction string

// The actions.
const (
	SetEndpoint     EndpointAction = "set"
	EnableEndpoint  EndpointAction = "enable"
	DisableEndpoint EndpointAction = "disable" // events wait, as long as they are kept
	RemoveEndpoint  EndpointAction = "remove"
)

// EndpointFormat is what an endpoint gets. Stored; never rename one.
type EndpointFormat string

// The formats.
const (
	StandardFormat    EndpointFormat = "standard"    // events, as Standard Webhooks
	OpenLineageFormat EndpointFormat = "openlineage" // beginnings and ends of runs, as OpenLineage has them
)

// EndpointOrder says whether a delivery waits for the one before it. Stored; never rename one.
type EndpointOrder string

// The orders.
const (
	StrictOrder EndpointOrder = "strict" // an event waits until the one before it was taken
	AnyOrder    EndpointOrder = "any"    // events pass one that is not taken
)

// Endpoint is where events are delivered, until its next row says otherwise.
type Endpoint struct {
	Name        string         `db:"endpoint,key"`
	Seq         int64          `db:"seq,key"` // from 0; set by Log
	Action      EndpointAction `db:"action"`
	URL         string         `db:"url"`
	Format      EndpointFormat `db:"format"`
	Order       EndpointOrder  `db:"ordering"`
	Kinds       string         `db:"kinds"`       // JSON array of kinds of events; empty for all
	Pipelines   string         `db:"pipelines"`   // JSON array of names; empty for all
	Environment string         `db:"environment"` // empty for all
	Secrets     string         `db:"secrets"`     // JSON array: names of the secrets with which deliveries are signed
	Disabled    bool           `db:"disabled"`
	Actor       string         `db:"actor"`
	Why         string         `db:"why"`
	At          Micros         `db:"at_us"` // set by Log
}

// Table returns endpoints.
func (Endpoint) Table() string { return "endpoints" }

// EndpointState says how far the deliveries to an endpoint are, and which process delivers.
type EndpointState struct {
	Name    string `db:"endpoint,key"`
	Cursor  int64  `db:"cursor,move"`     // events up to this position are deliveries, if the endpoint wants them
	Holder  string `db:"holder,move"`     // the process that delivers; empty for none
	Until   Micros `db:"until_us,move"`   // as long as it may
	Failing Micros `db:"failing_us,move"` // since when an event is dead, and none was taken since; 0 if that is not so
}

// Table returns endpoint_states.
func (EndpointState) Table() string { return "endpoint_states" }

// Listed returns the words of a list that an endpoint or a token has as JSON. An empty list often means everything, so
// a text that is no list is one empty word, which is the name of nothing: what is damaged gives no rights.
func Listed(list string) []string {
	var words []string
	if err := json.Unmarshal([]byte(list), &words); err != nil || words == nil {
		return []string{""}
	}
	return words
}

// List returns words as an endpoint has them.
func List(words []string) string {
	if words == nil {
		words = []string{}
	}
	text, err := json.Marshal(words)
	if err != nil {
		panic(err) // texts always encode
	}
	return string(text)
}

// Wants reports whether an event is delivered to the endpoint.
func (e Endpoint) Wants(event Event) bool {
	among := func(list, word string) bool {
		words := Listed(list)
		return len(words) == 0 || slices.Contains(words, word)
	}
	return among(e.Kinds, string(event.Kind)) && among(e.Pipelines, event.Pipeline) &&
		(e.Environment == "" || e.Environment == event.Environment) && (e.Format != OpenLineageFormat || event.Kind == RunStarted || event.Kind.Status() != "")
}

// ChangeEndpoint appends what change makes of the last row of an endpoint, which is nil if there is none. It is called again if somebody else changed the endpoint
// meanwhile. A new endpoint, and one that was removed, gets the events after the position from; with from -1, those that happen from now on.
func (l *Log) ChangeEndpoint(ctx context.Context, name string, from int64, change func(last *Endpoint) (Endpoint, error)) (row Endpoint, err error) {
	err = settle(Endpoint{}.Table(), func() error {
		last, err := lastOf[Endpoint](ctx, l, name)
		if err != nil {
			return err
		}
		if row, err = change(last); err != nil {
			return err
		}
		row.Name, row.Seq, row.At = name, 0, l.now()
		if last != nil {
			row.Seq = last.Seq + 1
		}
		tx := Tx{Insert: []Record{row}}
		if err := l.moveState(ctx, &tx, last, row, from); err != nil {
			return err
		}
		return l.plain.Commit(ctx, tx)
	})
	return row, err
}

// moveState adds to a transaction what a change of an endpoint changes of its deliveries.
func (l *Log) moveState(ctx context.Context, tx *Tx, last *Endpoint, row Endpoint, from int64) error {
	head, err := l.OutboxHead(ctx)
	if err != nil {
		return err
	}
	if from < 0 || from > head.Size {
		from = head.Size
	}
	if last == nil {
		tx.Insert = append(tx.Insert, EndpointState{Name: row.Name, Cursor: from})
		return nil
	}
	state, err := l.EndpointState(ctx, row.Name)
	next := state
	if last.Action == RemoveEndpoint {
		next.Cursor = max(state.Cursor, from)
	}
	if last.Disabled && !row.Disabled {
		next.Failing = 0
	}
	if next != state {
		tx.Move = append(tx.Move, Move{From: state, To: next})
	}
	return err
}

// Endpoints returns the last row of every endpoint that was not removed, by name; nil if there is none.
func (r *Reader) Endpoints(ctx context.Context) ([]Endpoint, error) {
	all, err := lastOfEach(ctx, r.from, func(e Endpoint) string { return e.Name })
	all = slices.DeleteFunc(all, func(e Endpoint) bool { return e.Action == RemoveEndpoint })
	return slices.Clip(all), err
}

// Endpoint returns the last row of an endpoint. The error wraps ErrNotFound if there is none, or it was removed.
func (r *Reader) Endpoint(ctx context.Context, name string) (Endpoint, error) {
	last, err := lastOf[Endpoint](ctx, r.from, name)
	if err == nil && (last == nil || last.Action == RemoveEndpoint) {
		err = fmt.Errorf("endpoint %s: %w", name, ErrNotFound)
	}
	if err != nil {
		return Endpoint{}, err
	}
	return *last, nil
}

// EndpointState returns how far the deliveries to an endpoint are. The error wraps ErrNotFound if there is no such endpoint.
func (r *Reader) EndpointState(ctx context.Context, name string) (EndpointState, error) {
	return get[EndpointState](ctx, r.from, name)
}

// EndpointLease is how long a process may deliver to an endpoint after it was heard of last. The clocks of processes may differ by less.
const EndpointLease = 30 * time.Second

// HoldEndpoint lets a process deliver to an endpoint for EndpointLease, unless another one does: then the result is false. What it records makes that time
// begin again.
func (l *Log) HoldEndpoint(ctx context.Context, name, holder string) (state EndpointState, held bool, err error) {
	if state, err = l.EndpointState(ctx, name); err != nil {
		return state, false, err
	}
	now, lease := l.now(), Micros(EndpointLease.Microseconds())
	before := state.Until > now+2*lease // it was written before a clock was set back: nobody has so much time
	if state.Holder != "" && state.Holder != holder && state.Until > now && !before {
		return state, false, nil
	}
	next := state
	if next.Holder, next.Until = holder, now+lease; !before {
		next.Until = max(next.Until, state.Until+1)
	}
	err = l.plain.Commit(ctx, Tx{Move: []Move{{From: state, To: next}}})
	if errors.Is(err, ErrStale) {
		return state, false, nil // another process was first
	}
	return next, err == nil, err
}

// ReleaseEndpoint ends what HoldEndpoint began. If another process has the endpoint by now, nothing changes.
func (l *Log) ReleaseEndpoint(ctx context.Context, held EndpointState) error {
	next := held
	next.Holder, next.Until = "", 0
	err := l.plain.Commit(ctx, Tx{Move: []Move{{From: held, To: next}}})
	if errors.Is(err, ErrStale) {
		err = nil
	}
	return err
}
