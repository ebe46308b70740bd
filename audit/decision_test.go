package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/tests/inprocess"
)

// about is a record of runs that questions are asked about.
type about struct {
	*inprocess.Record
	*audit.Auditor
	run string
}

// record runs a document without a server. Its source in reads in.jsonl.
func record(t *testing.T, document string, lines ...string) about {
	t.Helper()
	return recordWith(t, document, map[string]string{"in.jsonl": strings.Join(lines, "\n") + "\n"})
}

// recordWith runs a document that reads other files as well.
func recordWith(t *testing.T, document string, files map[string]string) about {
	t.Helper()
	r := inprocess.New(t)
	require.NoError(t, r.Run(t, run, document, files, nil))
	findings, err := r.Log.Sweep(t.Context(), run, true)
	require.NoError(t, err)
	require.Empty(t, findings)
	return about{r, audit.New(r.Log.Reader, r.Payloads, r.Planner), run}
}

// tell explains one token, and requires that everything that is told was computed again and is true.
func (a about) tell(t *testing.T, token string) *audit.Explanation {
	t.Helper()
	story, err := a.Explain(t.Context(), audit.Question{Run: a.run, Token: token})
	require.NoError(t, err)
	require.True(t, story.True(), "%s", textOf(t, story))
	return story
}

// joined returns the decisions that a story tells of, by coalesce.
func joined(story *audit.Explanation) map[string]*audit.Decision {
	told := map[string]*audit.Decision{}
	for _, token := range append(slices.Clone(story.Tokens), audit.TokenExplanation{Fate: story.Fate}) {
		for _, d := range []*audit.Decision{token.Merge, token.Merged} {
			if d != nil {
				told[d.Coalesce] = d
			}
		}
	}
	return told
}

// behind has branches that lose rows behind a barrier: at a filter, a gate or a step behind a sort, within another sort, in the
// coalesce of a fork of their own that is held or is not, and in an aggregate behind a sort.
const behind = `
name: behind
sources: {in: {jsonl: {path: in.jsonl}, schema: {fields: {id: int, lost: string}}}}
steps:
  - {name: copies, fork: [a, b, c, d, e]}
  - {name: wait_a, from: a, sort: {by: {id: asc}}}
  - {name: keep_a, filter: "!row.lost.contains('a')"}
  - {name: wait_b, from: b, sort: {by: {id: asc}}}
  - {name: again_b, deduplicate: {key: [lost], keep: last}}
  - {name: wait_c, from: c, sort: {by: {id: asc}}}
  - {name: inner, fork: [c1, c2]}
  - {name: wait_c1, from: c1, sort: {by: {id: asc}}}
  - {name: keep_c1, filter: "!row.lost.contains('c')"}
  - {name: held, coalesce: {c1: keep_c1, c2: c2}, on_error: quarantine}
  - {name: keep_c, filter: "!row.lost.contains('C')"}
  - {name: wait_d, from: d, sort: {by: {id: asc}}}
  - {name: fan, fork: [d1, d2]}
  - {name: keep_d1, from: d1, filter: "!row.lost.contains('d')"}
  - {name: pair, coalesce: {d1: keep_d1, d2: d2}, policy: best_effort}
  - {name: divide, set: {id: "row.id / (row.lost.contains('D') ? 0 : 1)"}, on_error: quarantine}
  - {name: wait_e, from: e, sort: {by: {id: asc}}}
  - {name: away, gate: "row.lost.contains('e')", routes: {"true": sums, "false": meet}}
  - {name: sums, aggregate: {compute: {n: count()}}}
  - {name: meet, coalesce: {a: keep_a, b: again_b, c: keep_c, d: divide, e: away}, policy: best_effort}
sinks:
  out: {jsonl: {path: out.jsonl}, from: meet}
  totals: {jsonl: {path: sums.jsonl}, from: sums}
`

// TestLostBehindABarrier: the node that is named for a lost branch is the one at which its token ended, however many barriers
// it passed before.
func TestLostBehindABarrier(t *testing.T) {
	a := record(t, behind, `{"id":1,"lost":"a"}`, `{"id":2,"lost":"xx"}`, `{"id":3,"lost":"xx"}`, `{"id":4,"lost":"c"}`,
		`{"id":5,"lost":"C"}`, `{"id":6,"lost":"d"}`, `{"id":7,"lost":"D"}`, `{"id":8,"lost":"e"}`)
	for row, want := range map[int][]string{
		1: {"a filter_dropped keep_a wait_a"},
		2: {"b batch_consumed again_b wait_b"},
		3: nil,
		4: {"c on_error_routed held held"},
		5: {"c filter_dropped keep_c held"},
		6: nil, // one of the two branches within is enough
		7: {"d on_error_routed divide wait_d"},
		8: {"e batch_consumed sums wait_e"},
	} {
		meet := joined(a.tell(t, fmt.Sprintf("in:%d", row)))["meet"]
		require.NotNil(t, meet)
		var lost []string
		for _, l := range meet.Lost {
			origin, _, _ := strings.Cut(l.Token, ":")
			lost = append(lost, strings.Join([]string{l.Branch, l.Reason, l.Node, origin}, " "))
		}
		require.Equal(t, want, lost, "row %d", row)
		for _, l := range meet.Lost {
			end := a.tell(t, l.Token)
			require.Contains(t, end.Way, l.Node, "the token that is named ended there")
		}
	}
}
