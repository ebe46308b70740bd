package activities_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
)

// judged is ordersDocument with policies.
func judged(policies ...string) string {
	return ordersDocument + "policies:\n" + strings.Join(policies, "")
}

func policy(name, gate, assert string) string {
	return "  - {name: " + name + ", gate: " + gate + ", assert: '" + assert + "'}\n"
}

// lastResults are the last results of the run's policies, by name.
func lastResults(r *rig) map[string]landscape.PolicyResult {
	r.t.Helper()
	standing, err := r.log.Policies(r.t.Context(), runID)
	require.NoError(r.t, err)
	results := map[string]landscape.PolicyResult{}
	for _, s := range standing {
		if s.Last != nil {
			results[s.Policy] = *s.Last
		}
	}
	return results
}

// TestAPolicyKeepsEverySinkBack publishes sinks of a run with a policy that does not pass, one after the other and by several processes.
func TestAPolicyKeepsEverySinkBack(t *testing.T) {
	r := newRig(t, judged(policy("all", "publish", "run.refused == 0"), policy("some", "publish", "run.read > 0"), policy("told", "warn", "run.read < 0")), ordersFiles)
	for _, sink := range r.playWrites().Sinks {
		both := activities.Batch[activities.PublishInput]{Run: runID, Each: []activities.PublishInput{{Sink: sink.Name}, {Sink: sink.Name}}}
		_, err := try[none](r, act.Publish, both)
		require.Regexp(t, `^POLICY all: \d+ == 0 is false$`, requireFinal(t, err, activities.TypePolicy), "what keeps all back is said once")
		_, err = try[none](r, act.Publish, activities.PublishInput{Sink: sink.Name})
		message := requireFinal(t, err, activities.TypePolicy)
		require.Regexp(t, `^POLICY all: \d+ == 0 is false$`, message)
		r.restart()
	}
	for name := range r.outputs() {
		require.Contains(t, name, ".partial", "nothing is published")
	}
	results, err := r.log.PolicyResults(t.Context(), runID)
	require.NoError(t, err)
	require.Len(t, results, 3, "each is evaluated once in an epoch")
	_, err = try[activities.FinishResult](r, act.FinishRun, activities.FinishInput{Run: runID})
	requireFinal(t, err, activities.TypeImbalance)

	_, err = r.log.WaivePolicy(t.Context(), runID, "all", "ann", "they are known")
	require.NoError(t, err)
	call[none](r, act.Publish, activities.PublishInput{Sink: "review"})
	require.Equal(t, landscape.PolicyWaived, lastResults(r)["all"].Result)
	require.Equal(t, landscape.PolicyFailed, lastResults(r)["told"].Result)
}

// TestResultsOfPoliciesAreRecordedBeforeAnythingIsPublished loses the request, and the reply, of the write that records them.
func TestResultsOfPoliciesAreRecordedBeforeAnythingIsPublished(t *testing.T) {
	for _, kept := range []bool{false, true} {
		r := newRig(t, judged(policy("all there", "publish", "run.read > 0")), ordersFiles)
		e := watch(r)
		r.playWrites()
		r.breakNext(0, kept)
		sink := activities.PublishInput{Sink: "review"}
		_, err := try[none](r, act.Publish, sink)
		require.ErrorContains(t, err, errLost.Error())
		require.EqualValues(t, 0, e.sealed.Load(), "nothing is published on a result that may not be recorded")
		require.Equal(t, kept, lastResults(r) != nil && len(lastResults(r)) == 1)
		call[none](r, act.Publish, sink)
		require.Equal(t, landscape.PolicyPassed, lastResults(r)["all there"].Result)
		results, err := r.log.PolicyResults(t.Context(), runID)
		require.NoError(t, err)
		require.Len(t, results, 1)
	}
}

// TestPoliciesFailClosed has assertions without a value: none of them passes.
func TestPoliciesFailClosed(t *testing.T) {
	for assert, code := range map[string]string{
		"run.read / (run.read - run.read) == 1":                       "DIVISION_BY_ZERO",
		"run.read * 9223372036854775807 > 0":                          "OVERFLOW",
		"run.read > 0.5 * last(2).run.read":                           "NULL_OPERAND",
		"range(200000).all(i, i < run.read)":                          "COST",
		"[run.read][1] > 0":                                           "NO_SUCH_KEY",
		`int(string(run.read) + "x") > 0`:                             "EVAL",
		"dyn(run.read) + dyn(true) == 1":                              "NO_SUCH_OVERLOAD",
		"last(1).errors.CONVERT > 0.0":                                "NULL_OPERAND",
		"run.read < 0 || last(9).run.read > 1.0":                      "NULL_OPERAND",
		"run.read > 0 ? last(3).sinks.review.rows < 1000.0 : false":   "NULL_OPERAND",
		"decimal(string(run.read) + string(true)) > decimal(\"1.0\")": "EVAL",
	} {
		r := newRig(t, judged(policy("p", "publish", assert)), ordersFiles)
		r.playWrites()
		_, err := try[none](r, act.Publish, activities.PublishInput{Sink: "review"})
		require.Contains(t, requireFinal(t, err, activities.TypePolicy), "("+code+")", assert)
		require.Equal(t, landscape.PolicyError, lastResults(r)["p"].Result, assert)
	}
}

// TestFiguresAreThoseOfThePlan plays a run over a graph with everything: what policies may ask of it is counted, and nothing else, and it balances.
func TestFiguresAreThoseOfThePlan(t *testing.T) {
	for _, document := range []struct {
		text  string
		files map[string]string
	}{{graphDocument, graphFiles}, {ordersDocument, ordersFiles}} {
		r := newRig(t, document.text, document.files)
		r.play()
		compiled, err := r.planner.Plan(plan.Request{File: "pipeline.yaml", Folder: r.folder, Document: []byte(document.text)})
		require.NoError(t, err)
		counted, err := r.log.Figures(t.Context(), runID, true)
		require.NoError(t, err)
		names := map[string]bool{}
		for _, name := range compiled.Figures() {
			names[name] = true
			if _, ok := counted[name]; !strings.HasPrefix(name, "edges.") && !strings.HasPrefix(name, "errors.") {
				require.True(t, ok, "%s is counted", name)
			}
		}
		for name := range counted {
			require.True(t, names[name], "%s can be asked for", name)
		}
		requireBalance(t, compiled, counted)
	}
}

// requireBalance requires that rows come to nodes, and leave them, by edges.
func requireBalance(t *testing.T, compiled *plan.Plan, counted map[string]int64) {
	t.Helper()
	arrived, left, refused := map[string]int64{}, map[string]int64{}, int64(0)
	for name, rows := range counted {
		switch path := strings.Split(name, "."); path[0] {
		case "edges":
			left[path[1]] += rows
			arrived[path[2]] += rows
		case "errors":
			refused += rows
		}
	}
	for i := range compiled.Nodes {
		node := &compiled.Nodes[i]
		of := func(figure string) int64 { return counted["nodes."+node.Name+"."+figure] }
		require.Equal(t, of("rows_in")+of("created"), of("rows_out")+of("dropped")+of("refused")+of("consumed"), node.Name)
		if node.Kind != plan.Source {
			require.Equal(t, of("rows_in"), arrived[node.Name], "by edges to %s", node.Name)
		}
	}
	require.Positive(t, refused)
	require.Equal(t, counted["run.refused"], refused)
	require.Equal(t, counted["run.quarantined"], arrived["quarantine"])
	require.Equal(t, counted["run.discarded"], arrived["discard"])
}

// TestSumsFailClosed has assertions over sums from which amounts are missing, and over such as nobody recorded: none of them passes.
func TestSumsFailClosed(t *testing.T) {
	const sum = "sums.orders.amount == sums.share.amount + sums.refused.amount + sums.quarantine.amount"
	totaled := func(policies ...string) string { return judged(policies...) + "totals: {amount: row.amount}\n" }
	r := newRig(t, totaled(policy("open", "publish", sum), policy("said", "publish", "sums.unreadable == 2 && "+sum), policy("all", "warn", "sums.unreadable == 0 && "+sum)), ordersFiles)
	r.playWrites()
	_, err := try[none](r, act.Publish, activities.PublishInput{Sink: "review"})
	require.Regexp(t, `^POLICY open: \S+ == .* has no value: unreadable amounts: 2; say how many there may be, as in sums\.unreadable == 0$`, requireFinal(t, err, activities.TypePolicy))
	require.Equal(t, landscape.PolicyPassed, lastResults(r)["said"].Result, lastResults(r)["said"].Detail)
	require.Equal(t, landscape.PolicyFailed, lastResults(r)["all"].Result)

	compiled, err := r.planner.Plan(plan.Request{File: "pipeline.yaml", Folder: r.folder, Document: []byte(totaled(
		policy("equal", "publish", "sums.unreadable >= 0 && "+sum), policy("none", "publish", "sums.unreadable == 0"), policy("median", "publish", "last(1).sums.orders.amount > 0.0")))})
	require.NoError(t, err)
	without := newRig(t, ordersDocument, ordersFiles)
	without.play()
	run, err := without.log.Run(t.Context(), runID)
	require.NoError(t, err)
	results, err := recompute.Policies(t.Context(), without.log.Reader, compiled, run)
	require.NoError(t, err)
	for _, result := range results {
		require.Equal(t, landscape.PolicyError, result.Result, result.Detail)
	}
	require.Contains(t, results[0].Detail, "is not recorded")
}

// TestSumsOfNothing: a run that reads nothing has sums, and they are 0.
func TestSumsOfNothing(t *testing.T) {
	r := newRig(t, judged(policy("even", "publish", "sums.unreadable == 0 && sums.orders.amount == sums.review.amount + sums.quarantine.amount"))+"totals: {amount: row.amount}\n",
		map[string]string{"in/a.csv": "id,amount,parts,note\n"})
	r.play()
	require.Equal(t, landscape.PolicyPassed, lastResults(r)["even"].Result)
}
