package client

import (
	"context"
	"errors"
	"slices"
	"strings"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// Advice is what can be done with a run that has stopped.
type Advice struct {
	Cures []Cure `json:"cures"`         // the better one first; empty if nothing is left to do
	Why   string `json:"why,omitempty"` // of Resolve: which effects are blocked; of SignOff: in which roles the run is not signed off; of Fork: what became of its records

	Policies []string `json:"policies,omitempty"` // of WaivePolicy: those that keep the run from publishing anything, in document order
}

// Resumes reports whether a resumption of the run itself is among what can be done, if something else comes first.
func (a Advice) Resumes() bool {
	others := []Cure{Fork, SendAgain, CancelFinal, GiveUp}
	return slices.ContainsFunc(a.Cures, func(cure Cure) bool { return !slices.Contains(others, cure) })
}

// StartsOver reports whether what cures the reason of a run that failed changes what it began with: a resumption would fail again.
func StartsOver(reason string) bool { return activities.NeedsNewRun(reason) }

// targetChanged is in the reason of a run that found an output to be no longer what it wrote.
const targetChanged = ": TARGET_CHANGED: "

// Advice returns what can be done with a run that has stopped.
func (c *Client) Advice(ctx context.Context, run landscape.Run) (advice Advice, err error) {
	defer c.edge(ctx, &err)
	if run, err = c.recorded(ctx, run.ID); err != nil {
		return Advice{}, err
	}
	return c.advice(ctx, run)
}

func (c *Client) advice(ctx context.Context, run landscape.Run) (Advice, error) {
	_, err := c.log.Resumable(ctx, run.ID)
	refusal, refused := errors.AsType[*landscape.NotResumableError](err)
	switch {
	case err != nil && !refused:
		return Advice{}, err
	case !refused && run.Status == pipeline.Failed:
		cures, err := c.afterFailure(ctx, run)
		return Advice{Cures: cures}, err
	case !refused && run.Status == pipeline.Blocked:
		return c.afterPolicies(ctx, run)
	case !refused:
		return Advice{Cures: []Cure{Resume}}, nil
	case Complete(run.Status) || run.Final:
		return Advice{}, nil
	case refusal.Purged:
		other, err := instead(ctx, c.log.Reader, run)
		return Advice{Cures: []Cure{other}, Why: refusal.Why}, err
	default:
		return Advice{Cures: []Cure{Resolve}, Why: refusal.Why}, nil
	}
}

// revival is how to continue with a run that is running according to its record, and that nobody executes.
func (c *Client) revival(ctx context.Context, run string) Cure {
	if c.host.Continues(ctx, run) {
		return ServeAgain
	}
	return Resume
}

// afterPolicies returns what can be done with a run that is blocked, but not by an effect.
func (c *Client) afterPolicies(ctx context.Context, run landscape.Run) (Advice, error) {
	policies, err := c.policies(ctx, run.ID)
	if err != nil {
		return Advice{}, err
	}
	other, err := instead(ctx, c.log.Reader, run)
	if err != nil {
		return Advice{}, err
	}
	if advice := waivable(policies, other); advice.Policies != nil {
		return advice, nil
	}
	release, err := c.Release(ctx, run)
	if err != nil {
		return Advice{}, err
	}
	if awaited := release.Awaited(); awaited != nil {
		return Advice{Cures: []Cure{SignOff}, Why: "it is not signed off as " + strings.Join(awaited, " and as ")}, nil
	}
	return Advice{Cures: []Cure{Resume}}, nil
}

// waivable is the advice about a run that policies keep from publishing anything: to waive them, or to begin another
// run with a mended document, if that can be. It has no Policies if no policy keeps it.
func waivable(policies []Policy, other Cure) Advice {
	advice := Advice{Cures: []Cure{WaivePolicy}}
	if other != CancelFinal {
		advice.Cures = append(advice.Cures, other)
	}
	for _, p := range policies {
		if p.keeps() && !strings.HasPrefix(p.Name, pipeline.SignOffPolicy) {
			advice.Policies = append(advice.Policies, p.Name)
		}
	}
	return advice
}

// afterFailure returns what can be done with a run that failed. What it wrote is never written again: if that is gone,
// only another run writes it, and so does one if the cure changes what the run began with.
func (c *Client) afterFailure(ctx context.Context, run landscape.Run) ([]Cure, error) {
	anew, changed := activities.NeedsNewRun(run.Reason), strings.Contains(run.Reason, targetChanged)
	if !anew && !changed {
		return []Cure{Mend}, nil
	}
	other, err := instead(ctx, c.log.Reader, run)
	switch {
	case err != nil:
		return nil, err
	case anew:
		return []Cure{other}, nil
	case other == CancelFinal:
		return []Cure{Restore}, nil
	}
	return []Cure{Restore, other}, nil
}

// instead returns how another run can do what a run was to do that cannot continue with what it began with: only one
// that reads its sources itself can be forked.
func instead(ctx context.Context, log *landscape.Reader, run landscape.Run) (Cure, error) {
	switch mayFork := activities.MayFork(run) == nil; {
	case run.Trigger == activities.TriggerArrival && run.Link == landscape.NoLink:
		return GiveUp, nil
	case !mayFork:
		return CancelFinal, nil
	}
	start, err := log.StartOfRun(ctx, run.ID)
	if err == nil && start.Rows != "" {
		return SendAgain, nil
	}
	return Fork, err
}

// TablesOf returns the sinks of a run that write into tables, in document order: what they wrote is there part by part, also if the run publishes nothing. Nil if
// there is none, or the recorded plan cannot be read.
func TablesOf(run landscape.Run) (sinks []string) {
	described, err := recompute.Described(run)
	if err != nil {
		return nil
	}
	for _, node := range described.Nodes {
		if node.Guarantee == plugin.Transactional {
			sinks = append(sinks, node.Name)
		}
	}
	return sinks
}
