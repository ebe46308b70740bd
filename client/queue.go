package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/activities"
	"waymark/landscape"
	"waymark/landscape/admit"
	"waymark/pipeline"
	"waymark/workflows"
)

// Waiting is a run that waits for places: its start is recorded, and the run is not.
type Waiting struct {
	Place       int                  `json:"place"` // in the queue, from 1; who comes after may begin before, if nobody before it wants the same
	Run         string               `json:"run"`
	Pipeline    string               `json:"pipeline"`              // its name, or that of the document's file
	Environment string               `json:"environment,omitempty"` // in which it is deployed; empty for a file
	Status      landscape.StartState `json:"status"`                // always waiting
	Priority    int64                `json:"priority"`              // 1 goes first
	Since       Time                 `json:"since"`                 // it was asked for
	Gate        string               `json:"gate"`                  // the first that has no room for it; empty if all have
	HeldBy      []string             `json:"held_by"`               // runs that hold places of the gate; not nil
	Behind      []string             `json:"behind"`                // runs that wait for the gate and come before it; not nil
	Reason      string               `json:"reason"`                // all that in a sentence
	Actor       string               `json:"actor"`
	Why         string               `json:"why,omitempty"`
}

// beginsWhen is the reason of a run that waits and may begin.
func (c *Client) beginsWhen(ctx context.Context, start *landscape.Start) string {
	switch {
	case !c.abandoned(ctx, start.Run):
		return "there are places: it is about to begin"
	case c.cureOfAbandoned(ctx, start) == ServeOrCancel:
		return "there are places, but its process is gone: waymark serve begins it"
	}
	return "there are places, but its process is gone, and nobody begins it: waymark cancel " + start.Run + " --why TEXT"
}

// cureOfAbandoned is what to do about a run that has not begun, and whose process is gone. If that served, or left all
// that its workflow begins with, the next one that serves begins the run; nobody else does.
func (c *Client) cureOfAbandoned(ctx context.Context, start *landscape.Start) Cure {
	if start.Input != "" || c.host.Continues(ctx, start.Run) {
		return ServeOrCancel
	}
	return CancelAndRun
}

// abandoned reports whether it is known that nobody waits for a run to begin: another process may use the state folder.
func (c *Client) abandoned(ctx context.Context, run string) bool {
	if executed := c.host.Executes(ctx, run); executed == nil || !*executed {
		return executed != nil
	}
	found, err := WithExecutor(ctx, c.host, run, func(*Executor) error { return nil })
	return err == nil && !found
}

// Queue returns the runs that wait for places, in order; it is empty, not nil, if none does.
func (c *Client) Queue(ctx context.Context) (list []Waiting, err error) {
	defer c.edge(ctx, &err)
	list = []Waiting{}
	state, err := c.log.Places(ctx, c.log.Now().Time())
	if err != nil {
		return nil, err
	}
	for i, claim := range state.Order() {
		start, err := c.log.LastStart(ctx, claim.Run)
		if err != nil {
			return nil, err
		}
		d := admit.Decide(state, claim)
		waiting := Waiting{
			Place: i + 1, Run: claim.Run, Pipeline: start.Pipeline, Environment: start.Environment, Status: landscape.StartWaiting, Priority: claim.Priority, Since: Time(start.Accepted),
			Gate: d.Gate, HeldBy: append([]string{}, d.Holders...), Behind: append([]string{}, d.Ahead...), Reason: d.Why(), Actor: start.Actor, Why: start.Why,
		}
		if d.Verdict == admit.Begin {
			waiting.Reason = c.beginsWhen(ctx, &start)
		}
		list = append(list, waiting)
	}
	return list, nil
}

// Waits returns the run that word names, if it waits for places: its id, or that of the workflow that somebody started for it; nil if it does not.
func (c *Client) Waits(ctx context.Context, word string) (_ *Waiting, err error) {
	defer c.edge(ctx, &err)
	start, err := c.startOf(ctx, word)
	if err != nil || start == nil || start.State != landscape.StartWaiting {
		return nil, err
	}
	list, err := c.Queue(ctx)
	for i := range list {
		if list[i].Run == start.Run {
			return &list[i], nil
		}
	}
	return nil, err
}

// startOf returns the last start of the run that word names: by its id, by the workflow that somebody started for it, or by a prefix of the id; nil if
// there is none.
func (c *Client) startOf(ctx context.Context, word string) (*landscape.Start, error) {
	start, err := c.log.LastStart(ctx, word)
	if errors.Is(err, landscape.ErrNotFound) {
		start, err = c.log.StartOfWorkflow(ctx, word)
	}
	if errors.Is(err, landscape.ErrNotFound) {
		start, err = c.log.FindStart(ctx, word)
	}
	switch _, ambiguous := errors.AsType[*landscape.AmbiguousError](err); {
	case errors.Is(err, landscape.ErrNotFound):
		return nil, nil //nolint:nilnil // nothing named is no error
	case ambiguous:
		err = &Error{Kind: Invalid, Code: AmbiguousRun, Message: err.Error(), Err: err}
	}
	return &start, err
}

// CancelQueued cancels a run that waits for places, with who wants that and why in the record of its start. The error is an *Error of kind Invalid
// if by.Why is empty.
func (c *Client) CancelQueued(ctx context.Context, waiting *Waiting, by By) (err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return err
	}
	order := workflows.Command{Actor: by.or(c.Actor).Actor, Why: by.Why, As: pipeline.Cancelled}
	found, err := WithExecutor(ctx, c.host, waiting.Run, func(executor *Executor) error {
		return executor.Order(ctx, waiting.Run, workflows.CancelUpdate, order)
	})
	if err != nil || found {
		return err
	}
	called, err := c.callOff(ctx, waiting.Run, by) // its workflow is gone
	if err == nil && called == nil {
		err = &Error{Kind: Conflict, Code: NotExecuted, Run: waiting.Run, Message: fmt.Sprintf("run %s waits no more: it has begun, or was called off", waiting.Run)}
	}
	return err
}

// StartedAs returns the id of the run that was asked for and that word names: by its id, by the workflow that somebody started for it, or by a prefix of the id; word itself if there is
// none.
func (c *Client) StartedAs(ctx context.Context, word string) (run string, err error) {
	defer c.edge(ctx, &err)
	start, err := c.startOf(ctx, word)
	if err != nil || start == nil {
		return word, err
	}
	return start.Run, nil
}

// CalledOff returns the id of the run that word names, if its start was cancelled before it began; empty if it was not.
func (c *Client) CalledOff(ctx context.Context, word string) (run string, err error) {
	defer c.edge(ctx, &err)
	start, err := c.startOf(ctx, word)
	if err != nil || start == nil || start.State != landscape.StartCancelled {
		return "", err
	}
	return start.Run, nil
}

// Limit says how many places a pool has, and how they are used.
type Limit struct {
	Pool    string `json:"pool"` // pool:NAME
	Places  int64  `json:"places"`
	Held    int64  `json:"held"`    // by runs that are running; more than Places if there were more when they began
	Waiting int    `json:"waiting"` // runs that want places of it
	Actor   string `json:"actor"`   // who said so
	Why     string `json:"why"`
	At      Time   `json:"at"`
}

// Limits returns the pools, by name; it is empty, not nil, if nobody ever set one.
func (c *Client) Limits(ctx context.Context) (list []Limit, err error) {
	defer c.edge(ctx, &err)
	limits, err := c.log.Limits(ctx)
	if err != nil {
		return nil, err
	}
	state, err := c.log.Places(ctx, c.log.Now().Time())
	list = make([]Limit, len(limits))
	for i, l := range limits {
		list[i] = Limit{Pool: l.Gate, Places: l.Places, Actor: l.Actor, Why: l.Why, At: Time(l.At)}
		list[i].Held, _ = wanted(state.Going, l.Gate)
		_, list[i].Waiting = wanted(state.Waiting, l.Gate)
	}
	return list, err
}

// wanted returns how many places of a gate the claims have, and how many claims that are.
func wanted(claims []admit.Claim, gate string) (places int64, runs int) {
	for _, claim := range claims {
		for _, want := range claim.Wants {
			if want.Gate == gate {
				places, runs = places+want.Places, runs+1
			}
		}
	}
	return places, runs
}

// SetLimit says how many places a pool has from now on, and tells the runs that wait for them. Runs that have more keep them to their ends. pool
// is its name, with or without pool: before it. If the pool has so many, nothing is recorded, and changed is false. The error is an *Error of kind
// Invalid if there can be no such pool, or by.Why is empty.
func (c *Client) SetLimit(ctx context.Context, pool string, places int64, by By) (changed bool, err error) {
	defer c.edge(ctx, &err)
	name := strings.TrimPrefix(pool, landscape.PoolGate(""))
	switch {
	case pipeline.CheckName(name) != nil:
		return false, &Error{Kind: Invalid, Code: InvalidOption, Message: fmt.Sprintf("%.64q cannot be a pool: %v", pool, pipeline.CheckName(name))}
	case places < 0:
		return false, &Error{Kind: Invalid, Code: InvalidOption, Message: fmt.Sprintf("a pool has %d places: write 0, which lets nobody in, or more", places)}
	}
	if err := by.giveWhy(); err != nil {
		return false, err
	}
	limits, err := c.log.Limits(ctx)
	has := func(l landscape.Limit) bool { return l.Gate == landscape.PoolGate(name) && l.Places == places }
	if err != nil || slices.ContainsFunc(limits, has) {
		return false, err
	}
	if err := c.log.SetLimit(ctx, landscape.Limit{Gate: landscape.PoolGate(name), Places: places, Actor: by.or(c.Actor).Actor, Why: by.Why}); err != nil {
		return false, err
	}
	return true, c.wakeAdmissible(ctx)
}

// wakeAdmissible tells the runs that wait and may begin.
func (c *Client) wakeAdmissible(ctx context.Context) error {
	runs, err := c.log.AllAdmissible(ctx)
	if err != nil || runs == nil {
		return err
	}
	executor, err := c.host.Reach(ctx)
	if err != nil || executor == nil || executor.Connection == nil {
		return err
	}
	defer executor.Close()
	return activities.Wake(ctx, executor.Temporal, runs...)
}
