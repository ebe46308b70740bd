package activities

import (
	"context"
	"strings"

	"waymark/activities/recompute"
	"waymark/pipeline"
)

// PolicyError says which policies keep a run from publishing its outputs.
type PolicyError struct {
	Failed []FailedPolicy // in document order
}

// FailedPolicy is a policy that did not pass.
type FailedPolicy struct{ Name, Detail string }

// Error names the policies and why they did not pass. It is the reason of the run.
func (e *PolicyError) Error() string {
	sentences := make([]string, len(e.Failed))
	for i, p := range e.Failed {
		sentences[i] = policyPrefix + p.Name + ": " + p.Detail
	}
	return strings.Join(sentences, "; ")
}

// policyPrefix begins the reason of a run that a policy keeps from publishing. It stands in landscapes and histories: never rename it.
const policyPrefix = "POLICY "

// PolicyFailed reports whether a blocked run has this reason because of policies, and not of effects.
func PolicyFailed(reason string) bool { return strings.HasPrefix(reason, policyPrefix) }

// AwaitsSignOff reports whether a blocked run has this reason only because it is not signed off in the roles that the document requires: every other policy passed.
func AwaitsSignOff(reason string) bool {
	return strings.HasPrefix(reason, policyPrefix+pipeline.SignOffPolicy)
}

// policies evaluates the policies that are due, once in an epoch, and records what they give. The error is a *PolicyError if one keeps the run from
// publishing anything.
//
// It may run twice: a policy that passed stands, and what the others are evaluated on changes no more.
func (a *Activities) policies(ctx context.Context, r *run) error {
	if r.plan.Policies == nil {
		return nil
	}
	results, err := recompute.DuePolicies(ctx, a.log.Reader, r.plan, r.id)
	if err == nil {
		err = a.log.RecordPolicies(ctx, r.id, results)
	}
	if err != nil {
		return err
	}
	standing, err := a.log.Policies(ctx, r.id)
	if err != nil {
		return err
	}
	failed := &PolicyError{}
	for _, policy := range standing {
		if policy.Keeps() {
			failed.Failed = append(failed.Failed, FailedPolicy{policy.Policy, policy.Last.Detail})
		}
	}
	if failed.Failed != nil {
		return failed
	}
	return nil
}
