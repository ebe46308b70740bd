package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/landscape"
)

// Endpoint is where events are delivered, and how that stands.
type Endpoint struct {
	Name        string                   `json:"endpoint"`
	URL         string                   `json:"url"`
	Format      landscape.EndpointFormat `json:"format"`
	Order       landscape.EndpointOrder  `json:"order"`
	Kinds       []string                 `json:"kinds,omitempty"`       // empty for all
	Pipelines   []string                 `json:"pipelines,omitempty"`   // empty for all
	Environment string                   `json:"environment,omitempty"` // empty for all
	Secrets     []string                 `json:"secrets,omitempty"`     // their names
	Disabled    bool                     `json:"disabled"`
	Actor       string                   `json:"actor"` // who changed it last
	Why         string                   `json:"why"`
	At          Time                     `json:"at"`
	Waiting     int64                    `json:"waiting"` // events that it is still to get
	Oldest      Time                     `json:"oldest"`  // when the oldest of these happened; null if there is none
	Dead        int64                    `json:"dead"`    // events that it did not take, and that are not tried again
	Failing     Time                     `json:"failing"` // since when it has taken nothing; null if that is not so
}

func endpointOf(b landscape.Backlog) Endpoint {
	e := b.Endpoint
	return Endpoint{
		Name: e.Name, URL: e.URL, Format: e.Format, Order: e.Order, Kinds: landscape.Listed(e.Kinds), Pipelines: landscape.Listed(e.Pipelines), Environment: e.Environment,
		Secrets: landscape.Listed(e.Secrets), Disabled: e.Disabled, Actor: e.Actor, Why: e.Why, At: Time(e.At), Waiting: b.Waiting, Oldest: Time(b.Oldest), Dead: b.Dead,
		Failing: Time(b.State.Failing),
	}
}

// Delivery is one event that an endpoint is to get, or got.
type Delivery struct {
	Endpoint string                  `json:"endpoint"`
	Position int64                   `json:"position"`
	ID       string                  `json:"id"` // of the event
	Type     landscape.EventKind     `json:"type"`
	State    landscape.DeliveryState `json:"state"`
	Attempts int64                   `json:"attempts"`
	Next     Time                    `json:"next"`   // when it is tried next; null if it is not
	Status   int64                   `json:"status"` // HTTP status of the last answer; 0 if there was none
	Error    string                  `json:"error,omitempty"`
	Answer   string                  `json:"answer,omitempty"` // the beginning of what the endpoint answered last, if it did not take the event
}

// Endpoints returns where events are delivered, by name; it is empty, not nil, if there is none.
func (c *Client) Endpoints(ctx context.Context) (list []Endpoint, err error) {
	defer c.edge(ctx, &err)
	backlogs, err := c.log.Backlogs(ctx)
	list = make([]Endpoint, len(backlogs))
	for i, b := range backlogs {
		list[i] = endpointOf(b)
	}
	return list, err
}

// ChangeEndpoint sets, enables, disables or removes an endpoint, as change says, which gets its last row; nil if there is none. from is the position after which a new
// endpoint gets events, -1 for those that happen from now on. The error is an *Error of kind NotFound if change returns landscape.ErrNotFound.
func (c *Client) ChangeEndpoint(ctx context.Context, name string, from int64, change func(last *landscape.Endpoint) (landscape.Endpoint, error)) (err error) {
	defer c.edge(ctx, &err)
	_, err = c.log.ChangeEndpoint(ctx, name, from, change)
	return noEndpoint(name, err)
}

// Endpoint returns the last row of an endpoint. The error is an *Error of kind NotFound if there is none.
func (c *Client) Endpoint(ctx context.Context, name string) (e landscape.Endpoint, err error) {
	defer c.edge(ctx, &err)
	e, err = c.log.Endpoint(ctx, name)
	return e, noEndpoint(name, err)
}

func noEndpoint(name string, err error) error {
	if errors.Is(err, landscape.ErrNotFound) {
		return &Error{Kind: NotFound, Code: EndpointNotFound, Message: fmt.Sprintf("there is no endpoint %q: waymark endpoint list shows those that there are", name), Err: err}
	}
	return err
}

// Deliveries returns what an endpoint is to get or got, in a state, empty for all, by position, those after a position; with an empty name, those of all endpoints. At most
// limit of each endpoint, or all with 0. The error is an *Error of kind Invalid if there is no such state, and NotFound if there is no such endpoint.
func (c *Client) Deliveries(ctx context.Context, endpoint string, state landscape.DeliveryState, after int64, limit int) (list []Delivery, err error) {
	defer c.edge(ctx, &err)
	if err := landscape.CheckDeliveryState(state); state != "" && err != nil {
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: err.Error(), Err: err}
	}
	endpoints, err := c.log.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	if endpoint != "" {
		endpoints = slices.DeleteFunc(endpoints, func(e landscape.Endpoint) bool { return e.Name != endpoint })
		if len(endpoints) == 0 {
			return nil, noEndpoint(endpoint, landscape.ErrNotFound)
		}
	}
	list = []Delivery{}
	for _, e := range endpoints {
		found, err := c.log.Deliveries(ctx, e.Name, state, after, limit)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			shown, err := c.delivery(ctx, d)
			if err != nil {
				return nil, err
			}
			list = append(list, shown)
		}
	}
	return list, nil
}

func (c *Client) delivery(ctx context.Context, d landscape.Delivery) (Delivery, error) {
	shown := Delivery{Endpoint: d.Endpoint, Position: d.Position, State: d.State, Attempts: d.Attempts, Status: d.Status, Error: d.Error}
	if d.State == landscape.DeliveryDue {
		shown.Next = Time(d.Next)
	}
	events, err := c.log.Outbox(ctx, d.Position-1, 1)
	if err != nil {
		return shown, err
	}
	for _, event := range events {
		shown.ID, shown.Type = event.ID, event.Kind
	}
	attempts, err := c.log.DeliveryAttempts(ctx, d.Endpoint, d.Position)
	if n := len(attempts); n > 0 {
		shown.Answer = attempts[n-1].Answer
	}
	return shown, err
}

// Replay lets an endpoint get events again, under their old ids, and returns how many. The error is an *Error of kind NotFound if there is no such endpoint, and of kind
// Invalid if there is no such kind of event.
func (c *Client) Replay(ctx context.Context, endpoint string, r landscape.Replayed) (n int, err error) {
	defer c.edge(ctx, &err)
	for _, kind := range r.Kinds {
		if err := landscape.CheckEventKind(string(kind)); err != nil {
			return 0, &Error{Kind: Invalid, Code: InvalidOption, Message: err.Error(), Err: err}
		}
	}
	e, err := c.log.Endpoint(ctx, endpoint)
	if err != nil {
		return 0, noEndpoint(endpoint, err)
	}
	return c.log.Replay(ctx, e, r)
}
