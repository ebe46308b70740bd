package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"waymark/landscape"
	"waymark/plugin/webhook"
)

// Arrival is a file, an output of another pipeline or a delivery that arrived at a trigger.
type Arrival struct {
	ID       string                 `json:"arrival"` // ITEM@REVISION
	Trigger  string                 `json:"trigger"`
	Item     string                 `json:"item"`     // path of the file; of an output RUN/SINK, of a delivery webhook:// and its receipt, of rows of a table rows://, the trigger and a number
	Revision int64                  `json:"revision"` // from 0, one more each time the file changes, or somebody lets it arrive again
	State    landscape.ArrivalState `json:"state"`
	Run      string                 `json:"run,omitempty"`    // that took it
	Reason   string                 `json:"reason,omitempty"` // one sentence
	Arrived  Time                   `json:"arrived"`
	Changed  Time                   `json:"changed"`          // when its state changed last
	Bytes    int64                  `json:"bytes,omitempty"`  // of a file or a delivery
	Output   *ArrivedOutput         `json:"output,omitempty"` // of a trigger after another pipeline
	Orders   []ArrivalDecision      `json:"orders,omitempty"` // what people decided about it
}

// ArrivedOutput is what another pipeline published.
type ArrivedOutput struct {
	Run    string `json:"run"`
	Sink   string `json:"sink"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Rows   int64  `json:"rows"`
}

// ArrivalDecision is what somebody decided about an arrival.
type ArrivalDecision struct {
	Action landscape.ArrivalAction `json:"action"`
	Actor  string                  `json:"actor"`
	Why    string                  `json:"why"`
	At     Time                    `json:"at"`
}

// ArrivalStates are the states of arrivals.
func ArrivalStates() []landscape.ArrivalState {
	return []landscape.ArrivalState{landscape.ArrivalReady, landscape.ArrivalTaken, landscape.ArrivalDone, landscape.ArrivalIgnored, landscape.ArrivalGone}
}

// Arrivals returns what arrived at the trigger that word means, in a state or in any for an empty one, the last first: what comes behind the arrival with the id after, or from the last one if
// that is empty, at most limit of them, or all for 0. It is empty, not nil, if there is none. The errors are those of Trigger, and of kind Invalid if there is no such state, or after names nothing.
func (c *Client) Arrivals(ctx context.Context, word string, state landscape.ArrivalState, after string, limit int) (list []Arrival, err error) {
	defer c.edge(ctx, &err)
	if states := ArrivalStates(); state != "" && !slices.Contains(states, state) {
		return nil, invalid(fmt.Sprintf("%.64q is no state of an arrival: choose one of %v", state, states))
	}
	row, err := c.findTrigger(ctx, "", word)
	if err != nil {
		return nil, err
	}
	var behind *landscape.Arrival
	if after != "" {
		if behind, err = c.arrivalWithID(ctx, row.ID, after); err != nil {
			return nil, err
		}
	}
	found, err := c.log.NewestArrivals(ctx, row.ID, state, behind, limit)
	list = make([]Arrival, len(found))
	for i, a := range found {
		if err != nil {
			return nil, err
		}
		list[i], err = c.arrival(ctx, a)
	}
	return list, err
}

// arrivalWithID returns the arrival at a trigger whose id is ITEM@REVISION.
func (c *Client) arrivalWithID(ctx context.Context, trigger, id string) (*landscape.Arrival, error) {
	at := strings.LastIndexByte(id, '@')
	number, err := strconv.ParseInt(id[at+1:], 10, 64)
	if at >= 0 && err == nil {
		found, err := c.log.ArrivalAt(ctx, trigger, id[:at], number)
		if err == nil || !errors.Is(err, landscape.ErrNotFound) {
			return &found, err
		}
	}
	return nil, invalid(fmt.Sprintf("%.200q names nothing that arrived at trigger %s", id, trigger))
}

// arrival returns an arrival with what people decided about it.
func (c *Client) arrival(ctx context.Context, a landscape.Arrival) (Arrival, error) {
	told := Arrival{
		ID: fmt.Sprintf("%s@%d", a.Item, a.Revision), Trigger: a.Trigger, Item: a.Item, Revision: a.Revision, State: a.State, Run: a.Run, Reason: a.Reason, Arrived: Time(a.At), Changed: Time(a.Changed),
	}
	output, err := a.Output()
	if err != nil {
		return told, err
	}
	if output != nil {
		told.Output = &ArrivedOutput{output.Run, output.Sink, output.Path, output.SHA256, output.Rows}
	} else {
		file, err := a.File()
		if err != nil {
			return told, err
		}
		told.Bytes = file.Bytes
	}
	if a.State != landscape.ArrivalIgnored && a.Revision == 0 {
		return told, nil // nobody can have decided anything
	}
	orders, err := c.log.OrdersOfArrival(ctx, a.Trigger, a.Item, a.Revision)
	for _, o := range orders {
		told.Orders = append(told.Orders, ArrivalDecision{o.Action, o.Actor, o.Why, Time(o.At)})
	}
	return told, err
}

// ArrivalOrder is what became of an order about what arrived at a trigger.
type ArrivalOrder struct {
	Trigger string                  `json:"trigger"`
	Action  landscape.ArrivalAction `json:"action"`
	Item    string                  `json:"item,omitempty"` // empty for all that waited
	Count   int64                   `json:"count"`          // arrivals that changed; 0 if it was so already
}

// IgnoreArrival lets what arrived last of an item, and waits, get no run. It may be repeated. The errors are those of Trigger; of kind NotFound as well if no such item arrived, Conflict if it does not
// wait, and Invalid if by.Why is empty.
func (c *Client) IgnoreArrival(ctx context.Context, word, item string, by By) (done ArrivalOrder, err error) {
	defer c.edge(ctx, &err)
	last, err := c.ordered(ctx, word, item, by)
	if err != nil {
		return done, err
	}
	done = ArrivalOrder{Trigger: last.Trigger, Action: landscape.IgnoreArrival, Item: last.Item}
	switch last.State {
	case landscape.ArrivalIgnored:
		return done, nil
	case landscape.ArrivalReady:
		done.Count = 1
		return done, c.ignore(ctx, last, by)
	}
	return done, notInState(last, "ignored")
}

// IgnoreWaiting lets everything that waits at a trigger get no run, also at one that was removed. What a run takes meanwhile is not ignored. It may be repeated. The errors are those of Trigger, and
// of kind Invalid if by.Why is empty.
func (c *Client) IgnoreWaiting(ctx context.Context, word string, by By) (done ArrivalOrder, err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return done, err
	}
	row, err := c.findTrigger(ctx, "", word)
	if err != nil {
		return done, err
	}
	done = ArrivalOrder{Trigger: row.ID, Action: landscape.IgnoreArrival}
	waiting, err := c.log.ArrivalsInState(ctx, row.ID, landscape.ArrivalReady, 0)
	for _, a := range waiting {
		if err != nil {
			break
		}
		err = c.ignore(ctx, a, by)
		if known, is := errors.AsType[*Error](err); is && known.Code == ArrivalUnfit { // a run took it meanwhile, or it is gone
			err = nil
		} else if err == nil {
			done.Count++
		}
	}
	return done, err
}

// ArriveAgain lets what arrived last of an item arrive once more: a run reads it again. If it waits, nothing changes, so it may be repeated until a run took it. The errors are those of Trigger; of
// kind NotFound as well if no such item arrived or the trigger was removed, Conflict if a run has it or it is not stored any more, and Invalid if by.Why is empty.
func (c *Client) ArriveAgain(ctx context.Context, word, item string, by By) (done ArrivalOrder, err error) {
	defer c.edge(ctx, &err)
	last, err := c.ordered(ctx, word, item, by)
	if err != nil {
		return done, err
	}
	row, err := c.log.Trigger(ctx, last.Trigger)
	done = ArrivalOrder{Trigger: last.Trigger, Action: landscape.AgainArrival, Item: last.Item}
	switch {
	case err != nil:
		return done, err
	case row.Removed():
		return done, removedTrigger(row)
	case last.State == landscape.ArrivalTaken:
		return done, notInState(last, "read again")
	case last.State == landscape.ArrivalReady:
		return done, nil
	}
	actor := by.or(c.Actor).Actor
	_, err = c.log.Again(ctx, last, fmt.Sprintf("again, by %s: %s", actor, by.Why), actor, by.Why)
	switch {
	case errors.Is(err, landscape.ErrStale):
		return done, changedMeanwhile(last)
	case errors.Is(err, landscape.ErrPurged):
		return done, &Error{Kind: Conflict, Code: ArrivalUnfit, Message: fmt.Sprintf("%s cannot be read again: what was delivered, or found, is purged or forgotten", last.Item), Err: err}
	}
	done.Count = 1
	return done, err
}

// ordered returns what arrived last of the item that an order is about: its name, or the receipt of a delivery.
func (c *Client) ordered(ctx context.Context, word, item string, by By) (landscape.Arrival, error) {
	if err := by.giveWhy(); err != nil {
		return landscape.Arrival{}, err
	}
	row, err := c.findTrigger(ctx, "", word)
	if err != nil {
		return landscape.Arrival{}, err
	}
	last, err := c.log.LastArrival(ctx, row.ID, item)
	if errors.Is(err, landscape.ErrNotFound) {
		last, err = c.log.LastArrival(ctx, row.ID, webhook.Scheme+item)
	}
	if errors.Is(err, landscape.ErrNotFound) {
		message := fmt.Sprintf("nothing of the name %.200q arrived at trigger %s", item, row.ID)
		err = &Error{Kind: NotFound, Code: ArrivalNotFound, Message: message, Cure: ListArrivals, Err: err}
	}
	return last, err
}

func (c *Client) ignore(ctx context.Context, a landscape.Arrival, by By) error {
	actor := by.or(c.Actor).Actor
	err := c.log.Ignore(ctx, a, fmt.Sprintf("ignored by %s: %s", actor, by.Why), actor, by.Why)
	if errors.Is(err, landscape.ErrStale) {
		return changedMeanwhile(a)
	}
	return err
}

// notInState says why an arrival cannot be what somebody wants.
func notInState(a landscape.Arrival, wanted string) error {
	message := fmt.Sprintf("%s cannot be %s: it is %s", a.Item, wanted, a.State)
	if a.State == landscape.ArrivalTaken {
		message = fmt.Sprintf("%s cannot be %s: run %s has it, and gives it back if it is cancelled permanently", a.Item, wanted, a.Run)
	}
	return &Error{Kind: Conflict, Code: ArrivalUnfit, Message: message}
}

func changedMeanwhile(a landscape.Arrival) error {
	return &Error{Kind: Conflict, Code: ArrivalUnfit, Message: fmt.Sprintf("%s changed at the same moment: look at it again", a.Item)}
}
