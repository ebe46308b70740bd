package landscape

import (
	"context"
	"errors"
	"fmt"
)

// UnreadDeliveries says how many deliveries are recorded at a trigger that no run has begun to read: they are rows of no run.
type UnreadDeliveries struct {
	Trigger    string `json:"trigger"`
	Deliveries int64  `json:"deliveries"` // at least 1
}

// String is a sentence for people.
func (u UnreadDeliveries) String() string {
	if u.Deliveries == 1 {
		return fmt.Sprintf("1 delivery at trigger %s, which no run has read yet", u.Trigger)
	}
	return fmt.Sprintf("%d deliveries at trigger %s, which no run has read yet", u.Deliveries, u.Trigger)
}

// UnreadDeliveries returns the triggers at which deliveries are that no run has begun to read, by id, also of triggers that were removed; it is empty, not nil, if there is none.
func (r *Reader) UnreadDeliveries(ctx context.Context) ([]UnreadDeliveries, error) {
	triggers, err := r.Triggers(ctx)
	if err != nil {
		return nil, err
	}
	list := []UnreadDeliveries{}
	for _, t := range triggers {
		at := UnreadDeliveries{Trigger: t.ID}
		for _, state := range []ArrivalState{ArrivalReady, ArrivalTaken} {
			found, err := r.ArrivalsInState(ctx, t.ID, state, 0)
			if err != nil {
				return nil, err
			}
			for _, a := range found {
				unread, err := r.unread(ctx, a)
				if err != nil {
					return nil, err
				}
				if unread {
					at.Deliveries++
				}
			}
		}
		if at.Deliveries > 0 {
			list = append(list, at)
		}
	}
	return list, nil
}

// unread reports whether an arrival is a delivery, and its run, if it has one, has not begun.
func (r *Reader) unread(ctx context.Context, a Arrival) (bool, error) {
	if a.Payload == "" || a.Run == "" {
		return a.Payload != "", nil
	}
	_, err := r.Run(ctx, a.Run)
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	return false, err
}
