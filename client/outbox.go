package client

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"waymark/landscape"
)

// OutboxEvent is one thing that happened, as receivers of webhooks are told of it.
type OutboxEvent struct {
	Position  int64               `json:"position"` // among all events, from 1
	ID        string              `json:"id"`       // the webhook-id of its deliveries
	Type      landscape.EventKind `json:"type"`
	Subject   string              `json:"subject"`   // what it happened to: a run's id, or such as pipeline/ENVIRONMENT/NAME
	Timestamp string              `json:"timestamp"` // RFC 3339, in UTC
	Data      json.RawMessage     `json:"data"`      // names, ids, counts and digests; no values of rows

	About landscape.Event `json:"-"`
}

// OutboxFilter says which events somebody wants to see.
type OutboxFilter struct {
	After  int64                 // those after this position
	Kinds  []landscape.EventKind // nil for all
	Follow bool                  // wait for more, until the context ends
}

// followInterval is how long Outbox waits before it looks for more events.
const followInterval = 500 * time.Millisecond

// mostAtOnce is how many events are read at once.
const mostAtOnce = 1_000

// Outbox calls yield with the events that a filter selects, in the order of their positions, until it returns an error. Events that have no position
// get one, if this process may write the landscape; else they come when another process has given them one. It returns how many of the events after
// filter.After were dropped, because they were old. The error is an *Error of kind Invalid if there is no such kind.
func (c *Client) Outbox(ctx context.Context, filter OutboxFilter, mayWrite bool, yield func(OutboxEvent) error) (dropped int64, err error) {
	defer c.edge(ctx, &err)
	for _, kind := range filter.Kinds {
		if err := landscape.CheckEventKind(string(kind)); err != nil {
			return 0, &Error{Kind: Invalid, Code: InvalidOption, Message: err.Error(), Err: err}
		}
	}
	head, err := c.log.OutboxHead(ctx)
	if err != nil {
		return 0, err
	}
	dropped = max(head.Dropped-max(filter.After, 0), 0)
	for {
		if mayWrite {
			if _, err := c.log.Sequence(ctx); err != nil {
				return dropped, err
			}
		}
		more, err := c.outbox(ctx, &filter, yield)
		switch {
		case err != nil || !more && !filter.Follow:
			return dropped, err
		case more:
			continue
		}
		select {
		case <-ctx.Done():
			return dropped, ctx.Err()
		case <-time.After(followInterval):
		}
	}
}

// outbox yields the next events, and moves the filter after them. more says that others may follow at once.
func (c *Client) outbox(ctx context.Context, filter *OutboxFilter, yield func(OutboxEvent) error) (more bool, err error) {
	events, err := c.log.Outbox(ctx, filter.After, mostAtOnce)
	for _, event := range events {
		filter.After = event.Position
		if filter.Kinds != nil && !slices.Contains(filter.Kinds, event.Kind) {
			continue
		}
		shown := OutboxEvent{Position: event.Position, ID: event.ID, Subject: cmp.Or(event.Run, event.Subject), About: event}
		if err := json.Unmarshal([]byte(event.Body), &shown); err != nil {
			return false, err
		}
		if err := yield(shown); err != nil {
			return false, err
		}
	}
	return len(events) == mostAtOnce, err
}
