package landscapetest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// ScenePolicies are policies that a scene may have.
func ScenePolicies() []landscape.PolicyRecord {
	return []landscape.PolicyRecord{
		{Policy: "few refused", Assertion: "run.refused * 100 < run.read", Gate: pipeline.GatePublish},
		{Policy: "many", Assertion: "run.read > 1000", Gate: pipeline.GateWarn},
		{Policy: "as ever", Assertion: "run.read > 0.5 * last(3).run.read", Gate: pipeline.GatePublish},
	}
}

// Judged begins a run with policies, of which two do not pass and one is waived then.
func Judged(ctx context.Context, log *landscape.Log, id string) error {
	run, graph := Scene{Run: id}.Graph()
	graph.Policies = ScenePolicies()
	err := errors.Join(
		log.BeginRun(ctx, run, graph),
		log.RecordPolicies(ctx, id, results(landscape.PolicyFailed, landscape.PolicyFailed, landscape.PolicyPassed)),
		log.StopRun(ctx, id, pipeline.Blocked, "POLICY few refused: 10 * 100 < 100 is false"),
	)
	if err == nil {
		_, err = log.WaivePolicy(ctx, id, "few refused", "ann", "they are known")
	}
	return err
}

// results are results of ScenePolicies, in order.
func results(words ...landscape.PolicyWord) []landscape.PolicyResult {
	var all []landscape.PolicyResult
	for i, p := range ScenePolicies()[:len(words)] {
		all = append(all, landscape.PolicyResult{Policy: p.Policy, Result: words[i], Detail: "10 < 100 is " + string(words[i]), Figures: `{"run.read":100}`})
	}
	return all
}

// policies holds what a log says of policies and their results.
func policies(t *testing.T, d landscape.Driver) {
	t.Run("results", func(t *testing.T) { policyResults(t, d) })
	t.Run("waivers", func(t *testing.T) { policyWaivers(t, d) })
	t.Run("the end", func(t *testing.T) { policiesAtTheEnd(t, d) })
}

// standing returns the last results of a run's policies, in order.
func standing(t *testing.T, log *landscape.Log, run string) (words []landscape.PolicyWord) {
	t.Helper()
	all, err := log.Policies(t.Context(), run)
	require.NoError(t, err)
	for i, p := range all {
		require.Equal(t, ScenePolicies()[i].Policy, p.Policy, "in document order")
		if p.Last == nil {
			words = append(words, "")
		} else {
			words = append(words, p.Last.Result)
		}
	}
	return words
}

func policyResults(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := begun(t, d, Scene{Run: "without"})
	require.Empty(t, standing(t, log, "without"))
	run, graph := Scene{Run: "with"}.Graph()
	graph.Policies = ScenePolicies()
	require.NoError(t, log.BeginRun(ctx, run, graph))
	require.NoError(t, log.BeginRun(ctx, run, graph), "a repeat")
	require.Equal(t, []landscape.PolicyWord{"", "", ""}, standing(t, log, "with"))

	require.NoError(t, log.RecordPolicies(ctx, "with", results(landscape.PolicyFailed, landscape.PolicyError, landscape.PolicyPassed)))
	require.NoError(t, log.RecordPolicies(ctx, "with", results(landscape.PolicyPassed, landscape.PolicyPassed, landscape.PolicyFailed)), "of the same epoch")
	require.Equal(t, []landscape.PolicyWord{landscape.PolicyFailed, landscape.PolicyError, landscape.PolicyPassed}, standing(t, log, "with"))
	require.NoError(t, log.StopRun(ctx, "with", pipeline.Blocked, "POLICY"))
	require.NoError(t, log.Resume(ctx, resumptionOf("with", 1)))
	late := log.InEpoch("with", 0).RecordPolicies(ctx, "with", results(landscape.PolicyPassed))
	require.ErrorIs(t, late, landscape.ErrSuperseded, "of an attempt of the epoch before")
	require.NoError(t, log.RecordPolicies(ctx, "with", results(landscape.PolicyPassed, landscape.PolicyError, landscape.PolicyFailed)))
	require.Equal(t, []landscape.PolicyWord{landscape.PolicyPassed, landscape.PolicyError, landscape.PolicyPassed}, standing(t, log, "with"), "what passed stands")
	all, err := log.PolicyResults(ctx, "with")
	require.NoError(t, err)
	require.Len(t, all, 5)
	require.Equal(t, []int64{0, 1}, []int64{all[1].Attempt, all[2].Attempt}, "by policy and attempt")
	require.Equal(t, []int64{0, 1}, []int64{all[1].Epoch, all[2].Epoch})
}

func policyWaivers(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	run, graph := Scene{Run: "waived"}.Graph()
	graph.Policies = ScenePolicies()
	require.NoError(t, log.BeginRun(ctx, run, graph))
	waive := func(policy, why string) (bool, error) { return log.WaivePolicy(ctx, "waived", policy, "ann", why) }
	_, err := waive("few refused", "too early")
	require.ErrorIs(t, err, landscape.ErrNotWaivable)
	require.NoError(t, log.RecordPolicies(ctx, "waived", results(landscape.PolicyFailed, landscape.PolicyFailed, landscape.PolicyPassed)))
	for policy, want := range map[string]error{"many": landscape.ErrNotWaivable, "as ever": landscape.ErrNotWaivable, "few": landscape.ErrNotFound} {
		_, err := waive(policy, "why not")
		require.ErrorIs(t, err, want, policy)
	}
	changed, err := waive("few refused", "they are known")
	require.NoError(t, err)
	require.True(t, changed)
	changed, err = waive("few refused", "again")
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, landscape.PolicyWaived, standing(t, log, "waived")[0])
	actions, err := log.Actions(ctx, "waived")
	require.NoError(t, err)
	require.Len(t, actions, 1)
	require.Equal(t, []string{landscape.VerbWaive, "ann", "few refused: they are known"}, []string{actions[0].Verb, actions[0].Actor, actions[0].Why})
	require.NoError(t, log.CancelRun(ctx, "waived", true, "ann", "no more"))

	require.NoError(t, Judged(ctx, log, "judged"))
	RequireSealed(t, log, "judged")
	require.NoError(t, log.CancelRun(ctx, "judged", true, "ann", "no more"))
	require.Equal(t, landscape.PolicyWaived, standing(t, log, "judged")[0])
}

// policiesAtTheEnd ends a run whose policies did not pass: it is not complete before they pass, or are waived.
func policiesAtTheEnd(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	s := Scene{Run: "end", Chunks: 1, ChunkRows: 10}
	run, graph := s.Graph()
	graph.Policies = ScenePolicies()
	require.NoError(t, log.BeginRun(ctx, run, graph))
	require.NoError(t, s.PlayToEnd(ctx, log))
	notPassed := func() (found []string) {
		var imbalance *landscape.ImbalanceError
		require.ErrorAs(t, log.FinishRun(ctx, "end", pipeline.CompletedWithFailures, ""), &imbalance)
		for _, f := range imbalance.Findings {
			require.Equal(t, landscape.PolicyNotPassed, f.Check)
			found = append(found, f.Detail)
		}
		return found
	}
	require.ElementsMatch(t, []string{`policy "few refused": not evaluated`, `policy "as ever": not evaluated`}, notPassed())
	require.NoError(t, log.RecordPolicies(ctx, "end", results(landscape.PolicyFailed, landscape.PolicyFailed, landscape.PolicyPassed)))
	require.Equal(t, []string{`policy "few refused": failed`}, notPassed(), "a policy that only warns keeps the run from nothing")
	_, err := log.WaivePolicy(ctx, "end", "few refused", "ann", "they are known")
	require.NoError(t, err)
	require.NoError(t, log.FinishRun(ctx, "end", pipeline.CompletedWithFailures, ""))
	RequireSealed(t, log, "end")
}
