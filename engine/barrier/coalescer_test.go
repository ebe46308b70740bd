package barrier

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// rule says in sets what graph and documents promise of a policy: of n branches, a arrived and l are lost.
type rule struct {
	policy  pipeline.Policy
	merges  func(a, l, n int) bool
	givesUp func(a, l, n int) bool
	atEnd   string // the code of what is made of too few branches; "" merges them
	merged  string // the word for a merge that no loss had a part in
}

func rules(n int) []rule {
	never := func(a, l, n int) bool { return false }
	list := []rule{
		{pipeline.Policy{}, func(a, _, n int) bool { return a == n }, func(a, l, _ int) bool { return a > 0 && l > 0 }, CodeIncompleteBranches, FiredByAll},
		{pipeline.Policy{Word: pipeline.BestEffort}, func(a, l, n int) bool { return a > 0 && a+l == n }, never, "", FiredByAll},
		{pipeline.Policy{Word: pipeline.First}, func(a, _, _ int) bool { return a > 0 }, never, "", FiredByFirst},
	}
	for q := 1; q <= n; q++ {
		list = append(list, rule{
			pipeline.Policy{Word: pipeline.Quorum, Quorum: q}, func(a, _, _ int) bool { return a >= q },
			func(a, l, n int) bool { return a > 0 && n-l < q }, CodeQuorumNotMet, FiredByQuorum,
		})
	}
	return list
}

// step is one thing that happens to a Coalescer.
type step struct {
	branch int
	lost   bool
}

// stories returns every order in which n branches arrive or are lost.
func stories(n int) [][]step {
	all := [][]step{nil}
	for range n {
		var longer [][]step
		for _, story := range all {
			for b := range n {
				if !slices.ContainsFunc(story, func(s step) bool { return s.branch == b }) {
					longer = append(longer, append(slices.Clone(story), step{b, false}), append(slices.Clone(story), step{b, true}))
				}
			}
		}
		all = longer
	}
	return all
}

func branchNames(n int) []string { return []string{"a", "b", "c", "d"}[:n] }

var reasons = []pipeline.Path{pipeline.GateRouted, pipeline.FilterDropped, pipeline.OnErrorRouted, pipeline.ForkParent}

// expectation is what the rule says of a story of which the first told steps happened before the stop word.
type expectation struct {
	firedBy         string
	at              int // the number of steps after which it is decided
	arrived         []int
	lost, notNeeded []int
	code            string
}

func (r rule) expect(story []step, told int, stop string) expectation {
	n, e := len(story), expectation{}
	a, l := 0, 0
	for e.at = 0; e.at < told && e.firedBy == ""; {
		if s := story[e.at]; s.lost {
			l++
		} else {
			a++
			e.arrived = append(e.arrived, s.branch)
		}
		e.at++
		switch {
		case r.merges(a, l, n):
			e.firedBy = r.merged
			if r.merged == FiredByAll && l > 0 {
				e.firedBy = FiredByLost
			}
		case r.givesUp(a, l, n):
			e.firedBy, e.code = FiredByLost, r.atEnd
		case l == n:
			e.firedBy = FiredByLost
		}
	}
	if e.firedBy == "" {
		e.firedBy = stop
		if a > 0 {
			e.code = r.atEnd
		}
	}
	for b := range n {
		i := slices.IndexFunc(story, func(s step) bool { return s.branch == b })
		switch {
		case i >= e.at:
			e.notNeeded = append(e.notNeeded, b)
		case story[i].lost:
			e.lost = append(e.lost, b)
		}
	}
	return e
}

// Every policy over every order of arrivals and losses of up to four branches, stopped after every step by the timeout or the
// end: what decides, when, and what becomes of each branch.
func TestPolicies(t *testing.T) {
	for n := 1; n <= 4; n++ {
		for _, rule := range rules(n) {
			coalescer := NewCoalescer(&plan.Coalescing{Branches: branchNames(n), Policy: rule.policy})
			for _, story := range stories(n) {
				for told := range n + 1 {
					for _, stop := range []string{FiredByTimeout, FiredByEnd} {
						tell(t, coalescer, rule, story, told, stop)
					}
				}
			}
		}
	}
}

func tell(t *testing.T, coalescer *Coalescer, rule rule, story []step, told int, stop string) {
	want := rule.expect(story, told, stop)
	coalescer.Reset()
	for i, s := range story[:told] {
		require.Equal(t, i+1 == want.at && want.firedBy != stop, happen(coalescer, s, branchRow(s.branch, true)), "%v %v", rule.policy, story)
	}
	if stop == FiredByEnd {
		require.Equal(t, want.firedBy == stop, coalescer.Finish())
	} else {
		require.Equal(t, want.firedBy == stop, coalescer.Expire())
	}
	for _, s := range story[told:] {
		require.False(t, coalescer.complete())
		require.False(t, happen(coalescer, s, branchRow(s.branch, true)), "a decision is final")
	}
	require.True(t, coalescer.complete())
	require.False(t, coalescer.Finish() || coalescer.Expire(), "a decision is final")

	got := coalescer.Decision()
	said := fmt.Sprintf("%+v %+v, stopped by %s after %d: %+v", rule.policy, story, stop, told, got)
	require.Equal(t, want.firedBy, got.FiredBy, said)
	require.Equal(t, orNone(want.arrived), orNone(got.Arrived), said)
	require.Equal(t, orNone(want.notNeeded), orNone(got.NotNeeded), said)
	require.Len(t, got.Lost, len(want.lost), said)
	for i, b := range want.lost {
		require.Equal(t, Lost{Branch: b, Reason: reasons[b]}, got.Lost[i], said)
	}
	require.Equal(t, len(want.arrived) == 0, got.Nothing, said)
	require.Equal(t, want.code, codeOf(got.Rejected), said)
}

func orNone(list []int) []int { return append([]int{}, list...) }

func codeOf(rejected *plugin.Rejection) string {
	if rejected == nil {
		return ""
	}
	return rejected.Code
}

func happen(coalescer *Coalescer, s step, in row.Row) bool {
	if s.lost {
		return coalescer.Lose(s.branch, reasons[s.branch])
	}
	return coalescer.Arrive(s.branch, in)
}

var branchShapes = []*row.Shape{
	row.NewShape([]string{"id", "seen"}), row.NewShape([]string{"b", "seen", "id"}), row.NewShape([]string{"id", "c"}), row.NewShape([]string{"seen"}),
}

// branchRow is the row that comes by the branch: id is the same for all, seen is not unless they agree.
func branchRow(b int, agree bool) row.Row {
	r := row.Row{Shape: branchShapes[b]}
	for _, field := range r.Shape.Fields() {
		switch {
		case field == "seen" && !agree:
			r.Values = append(r.Values, row.StringValue(branchNames(4)[b]))
		case field == "id" || field == "seen":
			r.Values = append(r.Values, row.IntValue(7))
		default:
			r.Values = append(r.Values, row.NullValue())
		}
	}
	return r
}

// Merges over every order of arrival of every set of branches: the order has no part in the row, but the declared order has.
func TestMerges(t *testing.T) {
	merges := []plan.Coalescing{
		{}, {Collision: plan.CollisionFirst}, {Collision: plan.CollisionFail}, {Merge: pipeline.Merge{Word: pipeline.Nested}},
		{Merge: pipeline.Merge{Word: pipeline.SelectBranch, Select: "b"}},
	}
	for _, spec := range merges {
		spec.Branches, spec.Policy = branchNames(4), pipeline.Policy{Word: pipeline.BestEffort}
		coalescer := NewCoalescer(&spec)
		for _, story := range stories(4) {
			for _, agree := range []bool{true, false} {
				coalescer.Reset()
				for _, s := range story {
					happen(coalescer, s, branchRow(s.branch, agree))
				}
				got := coalescer.Decision()
				if !got.Nothing {
					requireMerge(t, &spec, got, agree)
				}
			}
		}
	}
}

func requireMerge(t *testing.T, spec *plan.Coalescing, got Decision, agree bool) {
	came := slices.Sorted(slices.Values(got.Arrived))
	want := slowUnion(spec, came, agree)
	switch {
	case spec.Merge.Word == pipeline.Nested:
		want = ""
		for _, b := range came {
			want += fmt.Sprintf("%s=%s<%s ", branchNames(4)[b], mustParse(row.JSON, string(row.AppendJSON(nil, branchRow(b, agree)))).Text(), branchNames(4)[b])
		}
	case spec.Merge.Word == pipeline.SelectBranch && slices.Contains(came, 1):
		want = printUnion(branchShapes[1].Fields(), func(field string) (row.Value, int) { v, _ := branchRow(1, agree).Get(field); return v, 1 })
	case spec.Merge.Word == pipeline.SelectBranch:
		require.Equal(t, CodeSelectBranchMissing, codeOf(got.Rejected))
	}
	require.Equal(t, want, printUnion(got.Row.Shape.Fields(), func(field string) (row.Value, int) {
		value, _ := got.Row.Get(field)
		i, _ := got.Row.Shape.Index(field)
		require.Equal(t, field, got.Origins[i].Field)
		return value, got.Origins[i].Branch
	}))
	if spec.Merge.Word != "" {
		return
	}
	seen := slices.DeleteFunc(slices.Clone(came), func(b int) bool { return b == 2 }) // the branch without this field
	collide := !agree && len(seen) > 1
	require.Equal(t, collide, slices.Equal(got.Collisions, []string{"seen"}), "%v", got.Collisions)
	require.Equal(t, collide && spec.Collision == plan.CollisionFail, codeOf(got.Rejected) == CodeCollision)
}

// slowUnion says what the union is, as field=value<branch in order.
func slowUnion(spec *plan.Coalescing, came []int, agree bool) string {
	var fields []string
	from := map[string]int{}
	for _, b := range came {
		for _, field := range branchShapes[b].Fields() {
			if _, known := from[field]; !known {
				fields = append(fields, field)
				from[field] = b
			} else if spec.Collision != plan.CollisionFirst {
				from[field] = b
			}
		}
	}
	return printUnion(fields, func(field string) (row.Value, int) {
		value, _ := branchRow(from[field], agree).Get(field)
		return value, from[field]
	})
}

func printUnion(fields []string, at func(string) (row.Value, int)) string {
	var b strings.Builder
	for _, field := range fields {
		value, branch := at(field)
		fmt.Fprintf(&b, "%s=%s<%s ", field, row.AppendText(nil, value), branchNames(4)[branch])
	}
	return b.String()
}

// The caller reuses the memory of a row that arrived.
func TestArriveCopies(t *testing.T) {
	coalescer := NewCoalescer(&plan.Coalescing{Branches: branchNames(2)})
	in := branchRow(0, true)
	coalescer.Arrive(0, in)
	in.Values[0] = row.IntValue(99)
	coalescer.Arrive(1, branchRow(1, true))
	first := coalescer.Decision().Clone()
	require.Empty(t, first.Collisions)
	require.Equal(t, `{"id":7,"seen":7,"b":null}`, string(row.AppendJSON(nil, first.Row)))
	coalescer.Reset()
	coalescer.Arrive(0, in)
	coalescer.Arrive(1, branchRow(1, true))
	require.Equal(t, []string{"id"}, coalescer.Decision().Collisions)
	require.Equal(t, `{"id":7,"seen":7,"b":null}`, string(row.AppendJSON(nil, first.Row)))
}

func TestTwicePanics(t *testing.T) {
	coalescer := NewCoalescer(&plan.Coalescing{Branches: branchNames(2), Policy: pipeline.Policy{Word: pipeline.First}})
	coalescer.Arrive(0, branchRow(0, true))
	require.PanicsWithValue(t, `barrier: the branch "a" of one row came twice`, func() { coalescer.Lose(0, pipeline.GateRouted) })
}

func TestRefusedMergesSayWhatIsMissing(t *testing.T) {
	coalescer := NewCoalescer(&plan.Coalescing{Branches: branchNames(3)})
	coalescer.Arrive(0, branchRow(0, true))
	coalescer.Lose(2, pipeline.GateRouted)
	require.Equal(t, "INCOMPLETE_BRANCHES: missing: c (gate_routed); not awaited: b", coalescer.Decision().Rejected.Error())

	coalescer = NewCoalescer(&plan.Coalescing{Branches: branchNames(3)})
	coalescer.Arrive(0, branchRow(0, true))
	coalescer.Finish()
	require.Equal(t, "INCOMPLETE_BRANCHES: missing: b, c", coalescer.Decision().Rejected.Error(), "at the end there is nothing to wait for")

	coalescer = NewCoalescer(&plan.Coalescing{Branches: branchNames(3), Policy: pipeline.Policy{Word: pipeline.Quorum, Quorum: 2}})
	coalescer.Arrive(1, branchRow(1, true))
	coalescer.Expire()
	require.Equal(t, "QUORUM_NOT_MET: 1 of 2 needed branches came; missing: a (timeout), c (timeout)", coalescer.Decision().Rejected.Error())
}

// A decimal keeps its digits in a nested row, and JSON that is nested as deep as it may be does not fit into one.
func TestNestedHoldsWhatJSONCan(t *testing.T) {
	nest := func(value row.Value) (row.Row, Decision) {
		coalescer := NewCoalescer(&plan.Coalescing{Branches: branchNames(1), Merge: pipeline.Merge{Word: pipeline.Nested}})
		in := row.Row{Shape: row.NewShape([]string{"price"}), Values: []row.Value{value}}
		coalescer.Arrive(0, in)
		return in, coalescer.Decision()
	}
	_, got := nest(mustParse(row.Decimal, "0.12345678901234567890120"))
	require.Nil(t, got.Rejected)
	require.Equal(t, `{"price":0.12345678901234567890120}`, got.Row.Values[0].Text())

	in, got := nest(mustParse(row.JSON, strings.Repeat("[", row.MaxJSONDepth)+strings.Repeat("]", row.MaxJSONDepth)))
	require.Equal(t, row.CodeDepth, codeOf(got.Rejected))
	require.Equal(t, "a", got.Rejected.Field)
	require.Equal(t, in, got.Row)
}

func mustParse(kind row.Kind, text string) row.Value {
	value, err := row.Parse(kind, text)
	if err != nil {
		panic(err)
	}
	return value
}
