package landscapetest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// OrderOf is an order that ann proposed, with a signature that is none.
func OrderOf(run, name string, verb landscape.OrderVerb) landscape.ApprovalRequest {
	return landscape.ApprovalRequest{
		Run: run, Digest: digest(name), Verb: verb, Person: "ann", Statement: "{}", Signature: "s", Approver: "ann key", At: 1_700_000_000_000_000, Expires: 1_700_000_000_000_001,
	}
}

// AssentTo is a signature of a person under an order that is none.
func AssentTo(o landscape.ApprovalRequest, kind landscape.AssentKind, person string) landscape.Approval {
	return landscape.Approval{Run: o.Run, Order: o.Digest, Kind: kind, Person: person, Statement: "{}", Signature: "s", Approver: person + " key", At: o.At}
}

// Ordered lets two persons make waivers need two, and one again.
func Ordered(ctx context.Context, log *landscape.Log, run string) error {
	o := OrderOf(run, "rule", landscape.OrderRule)
	_, ruled := log.Rule(ctx, landscape.ApprovalRule{Verb: landscape.OrderWaive, Persons: 2, Actor: "ann",
		Why: "four eyes"})
	err := errors.Join(ruled, log.Propose(ctx, o))
	if err == nil {
		_, err = log.Assent(ctx, AssentTo(o, landscape.Approves, "bob"))
	}
	if err == nil {
		under := log.Under(landscape.ApprovedExecution{Run: run, Order: o.Digest, Persons: 2, Actor: "ann"})
		_, err = under.Rule(ctx, landscape.ApprovalRule{Verb: landscape.OrderWaive, Persons: 1, Actor: "ann, bob",
			Why: "we are few"})
	}
	return err
}

// orders holds what a log says of guarded changes.
func orders(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil).SealedBy(Sealer{})
	require.NoError(t, log.AppendToLog(ctx, EntryAbout("genesis")))
	run, graph := Scene{Run: "r"}.Graph()
	graph.Policies = ScenePolicies()
	require.NoError(t, log.BeginRun(ctx, run, graph))
	require.NoError(t, log.RecordPolicies(ctx, "r", results(landscape.PolicyFailed, landscape.PolicyFailed, landscape.PolicyPassed)))
	needed := func(verb landscape.OrderVerb) int64 {
		n, err := log.NeededPersons(ctx, verb)
		require.NoError(t, err)
		return n
	}
	require.EqualValues(t, 1, needed(landscape.OrderWaive))
	rule := landscape.ApprovalRule{Verb: landscape.OrderWaive, Persons: 2, Actor: "ann", Why: "four eyes"}
	for _, changes := range []bool{true, false} {
		changed, err := log.Rule(ctx, rule)
		require.NoError(t, err)
		require.Equal(t, changes, changed)
	}
	require.EqualValues(t, 2, needed(landscape.OrderWaive))
	rule.Persons = 1
	_, err := log.Rule(ctx, rule)
	require.Equal(t, &landscape.NeedsOrderError{Verb: landscape.OrderRule, Persons: 2}, err)

	_, err = log.WaivePolicy(ctx, "r", "few refused", "ann", "they are known")
	require.ErrorAs(t, err, new(*landscape.NeedsOrderError))
	for _, verb := range []landscape.OrderVerb{landscape.OrderPurge, landscape.OrderForget} {
		_, err = log.Rule(ctx, landscape.ApprovalRule{Verb: verb, Persons: 2, Actor: "ann", Why: "four eyes"})
		require.NoError(t, err)
	}
	_, err = log.BeginPurge(ctx, landscape.Purge{Actor: "ann", Why: "old", Rules: "{}"}, nil)
	require.ErrorAs(t, err, new(*landscape.NeedsOrderError))
	_, err = log.BeginForgetting(ctx, landscape.Purge{Actor: "ann", Why: "asked"}, nil, nil)
	require.ErrorAs(t, err, new(*landscape.NeedsOrderError))

	o := OrderOf("r", "waive", landscape.OrderWaive)
	for range 2 {
		require.NoError(t, log.Propose(ctx, o))
	}
	other := o
	other.Person = "eve"
	require.ErrorAs(t, log.Propose(ctx, other), new(*landscape.DivergedError))
	found, err := log.FindOrder(ctx, o.Digest[:8])
	require.NoError(t, err)
	require.Equal(t, o, found)
	_, err = log.FindOrder(ctx, "x")
	require.ErrorIs(t, err, landscape.ErrNotFound)
	_, err = log.Assent(ctx, AssentTo(o, landscape.Approves, "ann"))
	require.ErrorIs(t, err, landscape.ErrAssented, "who proposes does not approve")
	_, err = log.Assent(ctx, AssentTo(o, landscape.Reviews, "bob"))
	require.ErrorIs(t, err, landscape.ErrNotOpen, "there is nothing to review")

	x := landscape.ApprovedExecution{Run: "r", Order: o.Digest, Persons: 2, Actor: "ann"}
	under := func(x landscape.ApprovedExecution) error {
		_, err := log.Under(x).WaivePolicy(ctx, "r", "few refused", "ann, bob", "they are known")
		return err
	}
	require.ErrorIs(t, under(x), landscape.ErrTooFew, "one person signed")
	_, err = log.Assent(ctx, AssentTo(o, landscape.Approves, "bob"))
	require.NoError(t, err)
	_, err = log.Assent(ctx, AssentTo(o, landscape.Approves, "bob"))
	require.ErrorIs(t, err, landscape.ErrAssented)
	few := x
	few.Persons = 1
	require.ErrorIs(t, under(few), landscape.ErrTooFew, "the rule wants two")
	executed, err := log.ExecutionOf(ctx, o)
	require.NoError(t, err)
	require.Nil(t, executed)
	require.NoError(t, under(x))
	executed, err = log.ExecutionOf(ctx, o)
	require.NoError(t, err)
	require.Equal(t, "ann", executed.Actor)
	_, err = log.Assent(ctx, AssentTo(o, landscape.Approves, "cid"))
	require.ErrorIs(t, err, landscape.ErrNotOpen, "it was executed")
	_, err = log.Assent(ctx, AssentTo(o, landscape.Reviews, "cid"))
	require.ErrorIs(t, err, landscape.ErrNotOpen, "it was no emergency")
	require.NoError(t, under(x), "a repeat changes nothing")

	o = OrderOf("", "rule", landscape.OrderRule)
	require.NoError(t, log.Propose(ctx, o))
	emergency := log.Under(landscape.ApprovedExecution{Order: o.Digest, Persons: 1, Emergency: true, Why: "fire",
		Actor: "ann"})
	_, err = emergency.Rule(ctx, rule)
	require.NoError(t, err)
	require.EqualValues(t, 1, needed(landscape.OrderWaive))
	_, err = log.Assent(ctx, AssentTo(o, landscape.Reviews, "cid"))
	require.NoError(t, err)
	for kind, want := range map[string]int{"approval_requests": 2, "approvals": 2, "approved_executions": 2,
		"approval_rules": 4} {
		entries, err := log.LogEntriesAbout(ctx, kind)
		require.NoError(t, err)
		require.Len(t, entries, want, kind)
	}
	cancelOrders(t, log)
}

// cancelOrders holds that a run is cancelled permanently only by as many persons as that needs; one suffices if the action is recorded, or another run has its place.
func cancelOrders(t *testing.T, log *landscape.Log) {
	ctx := t.Context()
	begin := func(id, parent string) {
		run, graph := Scene{Run: id}.Graph()
		if run.Parent = parent; parent != "" {
			run.Link = landscape.ForkLink
		}
		require.NoError(t, log.BeginRun(ctx, run, graph))
	}
	begin("ordered", "")
	require.NoError(t, log.RecordOrder(ctx, "ordered", landscape.VerbCancelFinal, "ann", "never again", 0))
	_, err := log.Rule(ctx, landscape.ApprovalRule{Verb: landscape.OrderCancel, Persons: 2, Actor: "ann",
		Why: "four eyes"})
	require.NoError(t, err)
	require.NoError(t, log.CancelRun(ctx, "ordered", true, "ann", "never again"), "it was ordered before the rule")

	begin("c", "")
	require.NoError(t, log.CancelRun(ctx, "c", false, "ann", "it can be resumed"))
	require.ErrorAs(t, log.RecordOrder(ctx, "c", landscape.VerbCancelFinal, "ann", "no", 0), new(*landscape.NeedsOrderError))
	require.ErrorAs(t, log.CancelRun(ctx, "c", true, "ann", "no"), new(*landscape.NeedsOrderError))
	o := OrderOf("c", "cancel", landscape.OrderCancel)
	require.NoError(t, log.Propose(ctx, o))
	under := log.Under(landscape.ApprovedExecution{Run: "c", Order: o.Digest, Persons: 2, Actor: "ann"})
	require.False(t, log.Executes())
	require.True(t, under.Executes())
	require.ErrorIs(t, under.CancelRun(ctx, "c", true, "ann, bob", "no"), landscape.ErrTooFew)
	_, err = log.Assent(ctx, AssentTo(o, landscape.Approves, "bob"))
	require.NoError(t, err)
	require.NoError(t, under.CancelRun(ctx, "c", true, "ann, bob", "no"))
	require.NoError(t, under.CancelRun(ctx, "c", true, "ann, bob", "no"), "a repeat")
	head, err := log.Run(ctx, "c")
	require.NoError(t, err)
	require.True(t, head.Final)
	executed, err := log.ExecutionOf(ctx, o)
	require.NoError(t, err)
	require.EqualValues(t, 2, executed.Persons)

	begin("old", "")
	begin("new", "old")
	require.NoError(t, log.CancelRun(ctx, "old", true, "ann", "run new has its place"))
}
