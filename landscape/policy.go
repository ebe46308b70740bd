package landscape

import (
	"context"
	"errors"
	"fmt"

	"waymark/pipeline"
)

// PolicyRecord is something that the document says must be true of a run.
type PolicyRecord struct {
	Run       string `db:"run_id,key"`
	Policy    string `db:"policy,key"` // its name
	Seq       int64  `db:"seq"`        // from 0, in document order
	Assertion string `db:"assertion"`
	Gate      string `db:"gate"` // pipeline.GatePublish, GateWarn or GateSeal
}

// Table returns policies.
func (PolicyRecord) Table() string { return "policies" }

// PolicyResult is what an evaluation of a policy gave, or that a person waived it.
type PolicyResult struct {
	Run     string     `db:"run_id,key"`
	Policy  string     `db:"policy,key"`
	Attempt int64      `db:"attempt,key"` // from 0
	Epoch   int64      `db:"epoch"`       // of the run then
	Result  PolicyWord `db:"result"`
	Detail  string     `db:"detail"`  // the assertion with values; why there is none; of a waiver, why
	Figures string     `db:"figures"` // JSON object: the values that the assertion asked for; of a waiver {}
	Actor   string     `db:"actor"`   // who waived it; else empty
	At      Micros     `db:"at_us,first"`
}

// Table returns policy_results.
func (PolicyResult) Table() string { return "policy_results" }

// PolicyWord is the result of a policy. Stored; never rename.
type PolicyWord string

// The results of a policy.
const (
	PolicyPassed PolicyWord = "passed" // the assertion is true
	PolicyFailed PolicyWord = "failed" // it is false
	PolicyError  PolicyWord = "error"  // it has no value
	PolicyWaived PolicyWord = "waived" // a person let the run go on without it
)

// Stands reports whether the run may go on, and the policy is not evaluated again.
func (w PolicyWord) Stands() bool { return w == PolicyPassed || w == PolicyWaived }

// PolicyNotPassed is the check that finds policies that should have kept a run from being complete. Stored in reports; never rename.
const PolicyNotPassed = "policy_not_passed"

// PolicyStanding is a policy with its last result.
type PolicyStanding struct {
	PolicyRecord
	Last *PolicyResult // nil if it was never evaluated
}

// Due reports whether the policy is to be evaluated in an epoch: it does not stand, and was not evaluated in it.
func (s PolicyStanding) Due(epoch int64) bool {
	return s.Last == nil || !s.Last.Result.Stands() && s.Last.Epoch != epoch
}

// Keeps reports whether the policy keeps its run from publishing anything.
func (s PolicyStanding) Keeps() bool {
	return s.Gate == pipeline.GatePublish && (s.Last == nil || !s.Last.Result.Stands())
}

// Policies returns the policies of a run in document order, each with its last result; nil if the run has none.
func (r *Reader) Policies(ctx context.Context, run string) ([]PolicyStanding, error) {
	declared, err := Select[PolicyRecord](ctx, r.from, run)
	if err != nil || declared == nil {
		return nil, err
	}
	standing := make([]PolicyStanding, len(declared))
	for _, p := range declared {
		if p.Seq < 0 || p.Seq >= int64(len(declared)) || standing[p.Seq].Policy != "" {
			return nil, incomplete("policies of run %s: number %d", run, p.Seq)
		}
		last, err := lastOf[PolicyResult](ctx, r.from, run, p.Policy)
		if err != nil {
			return nil, err
		}
		standing[p.Seq] = PolicyStanding{p, last}
	}
	return standing, nil
}

// PolicyResults returns every result of every policy of a run, by policy and attempt; nil if there is none.
func (r *Reader) PolicyResults(ctx context.Context, run string) ([]PolicyResult, error) {
	return Select[PolicyResult](ctx, r.from, run)
}

// RecordPolicies records results of policies in the run's epoch. Log sets Attempt, Epoch and At. Of a policy whose last result stands, or is of the
// epoch, the result is left out: another process evaluated it, and all that it stands on is decided.
func (l *Log) RecordPolicies(ctx context.Context, run string, results []PolicyResult) error {
	return settle(PolicyResult{}.Table(), func() error {
		head, err := get[RunHead](ctx, l, run)
		if err != nil {
			return err
		}
		var insert []Record
		for _, result := range results {
			last, err := lastOf[PolicyResult](ctx, l, run, result.Policy)
			switch {
			case err != nil:
				return err
			case !PolicyStanding{Last: last}.Due(head.Epoch):
				continue
			case last != nil:
				result.Attempt = last.Attempt + 1
			}
			result.Run, result.Epoch, result.At = run, head.Epoch, l.now()
			insert = append(insert, result)
		}
		if insert == nil {
			return nil
		}
		return l.recordOf(ctx, run, Tx{Insert: insert})
	})
}

// ErrNotWaivable says that a policy does not keep its run from being complete.
var ErrNotWaivable = errors.New("there is nothing to waive")

// WaivePolicy records that a person lets a run go on although a policy did not pass, with the action, in one transaction. It reports whether that is
// new: waiving it again changes nothing. The error is a *NeedsOrderError if one person may not, and wraps ErrNotFound if the run has no such policy, and ErrNotWaivable if the policy did not fail.
func (l *Log) WaivePolicy(ctx context.Context, run, policy, actor, why string) (changed bool, err error) {
	err = settle("actions", func() error {
		changed, err = l.waivePolicy(ctx, run, policy, actor, why)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("policy %s of run %s: %w", policy, run, err)
	}
	return changed, nil
}

func (l *Log) waivePolicy(ctx context.Context, run, policy, actor, why string) (bool, error) {
	if err := l.MayOrder(ctx, OrderWaive); err != nil {
		return false, err
	}
	declared, err := get[PolicyRecord](ctx, l, run, policy)
	if err != nil {
		return false, err
	}
	last, err := lastOf[PolicyResult](ctx, l, run, policy)
	switch {
	case err != nil:
		return false, err
	case last == nil:
		return false, fmt.Errorf("it was not evaluated yet: %w", ErrNotWaivable)
	case last.Result == PolicyWaived:
		return false, nil
	case last.Result == PolicyPassed:
		return false, fmt.Errorf("it passed: %w", ErrNotWaivable)
	}
	head, err := get[RunHead](ctx, l, run)
	if err == nil {
		err = head.waivable(declared)
	}
	if err != nil {
		return false, err
	}
	action, err := l.nextAction(ctx, run, VerbWaive, actor, policy+": "+why)
	if err != nil {
		return false, err
	}
	waived := PolicyResult{
		Run: run, Policy: policy, Attempt: last.Attempt + 1, Epoch: head.Epoch, Result: PolicyWaived, Detail: why, Figures: "{}", Actor: actor, At: action.At,
	}
	tx := Tx{Insert: []Record{action, waived}}
	if err := l.executed(ctx, &tx, nil); err != nil {
		return false, err
	}
	return true, l.recordOf(ctx, run, tx)
}

// waivable refuses to waive a policy that keeps the run from nothing.
func (h RunHead) waivable(p PolicyRecord) error {
	switch {
	case p.Gate != pipeline.GatePublish:
		return fmt.Errorf("its gate is %s, which stops nothing: %w", p.Gate, ErrNotWaivable)
	case h.Resumable() != nil:
		return fmt.Errorf("the run is %s: %w", h.Status, ErrNotWaivable)
	}
	return nil
}
