package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/landscape"
	"waymark/pipeline"
)

// Policy is something that the document says must be true of a run, with its last result.
type Policy struct {
	Name    string               `json:"policy"`
	Assert  string               `json:"assert"`
	Gate    string               `json:"gate"`             // what happens if it does not pass: publish, warn or seal
	Result  landscape.PolicyWord `json:"result,omitempty"` // empty if it was not evaluated yet
	Detail  string               `json:"detail,omitempty"` // the assertion with values; of a waiver, why
	Figures json.RawMessage      `json:"figures,omitempty"`
	Actor   string               `json:"actor,omitempty"` // who waived it
	At      Time                 `json:"at,omitempty"`
	Now     string               `json:"now,omitempty"` // of a role in which the run must be signed off: how that stands now, if Result says something else
}

// Told is what there is to say about the result; empty if the policy was not evaluated yet.
func (p Policy) Told() string {
	told := p.Detail
	if p.Now != "" {
		told += "; now " + p.Now
	}
	return told
}

// Warns reports whether people are to be told that the policy did not pass.
func (p Policy) Warns() bool {
	return p.Gate == pipeline.GateWarn && p.Result != "" && !p.Result.Stands()
}

// keeps reports whether the policy was evaluated, and keeps its run from publishing anything.
func (p Policy) keeps() bool {
	return p.Gate == pipeline.GatePublish && p.Result != "" && !p.Result.Stands()
}

// policies returns the policies of a run in document order; nil if it has none.
func (c *Client) policies(ctx context.Context, run string) ([]Policy, error) {
	standing, err := c.log.Policies(ctx, run)
	if err != nil {
		return nil, err
	}
	var policies []Policy
	for _, s := range standing {
		policy := Policy{Name: s.Policy, Assert: s.Assertion, Gate: s.Gate}
		if last := s.Last; last != nil {
			policy.Result, policy.Detail, policy.Actor, policy.At = last.Result, last.Detail, last.Actor, Time(last.At)
			if last.Result != landscape.PolicyWaived {
				policy.Figures = json.RawMessage(last.Figures)
			}
		}
		policies = append(policies, policy)
	}
	return policies, nil
}

// Waived is what became of a waiver.
type Waived struct {
	Advice       // what can be done with the run then
	Changed bool // else the policy had been waived already
}

// Waive records that a policy need not pass for the run to publish its outputs, and returns what can be done with the run then. To waive it again
// changes nothing. The error is an *Error: of kind Invalid if by.Why is empty, of kind NotFound if the run has no such policy, of kind Conflict if the
// policy keeps the run from nothing: it passed, was not evaluated yet, or has another gate, or the run cannot be resumed.
func (c *Client) Waive(ctx context.Context, run landscape.Run, policy string, by By) (done Waived, err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return done, err
	}
	if run, err = c.recorded(ctx, run.ID); err != nil {
		return done, err
	}
	done.Changed, err = c.log.WaivePolicy(ctx, run.ID, policy, by.or(c.Actor).Actor, by.Why)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return done, &Error{Kind: NotFound, Code: PolicyNotFound, Message: fmt.Sprintf("run %s has no policy %q", run.ID, policy), Cure: ListPolicies, Run: run.ID, Err: err}
	case errors.Is(err, landscape.ErrNotWaivable):
		return done, &Error{Kind: Conflict, Code: NotWaivable, Message: err.Error(), Err: err}
	case err != nil:
		return done, err
	}
	done.Advice, err = c.advice(ctx, run)
	return done, err
}
