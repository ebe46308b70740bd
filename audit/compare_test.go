package audit_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/compare"
	"waymark/pipeline/schema"
)

// TestCompare compares runs of forked with runs of other documents, and of other rows.
func TestCompare(t *testing.T) {
	s := newFixture(t)
	s.Write(t, map[string]string{"in.csv": forkedRows()})
	runs := 0
	begin := func(document string) string {
		t.Helper()
		runs++
		id := fmt.Sprintf("compared-%d", runs)
		_, err := s.Run(t, id, strings.ReplaceAll(document, "out/", id+"/"))
		require.NoError(t, err)
		return id
	}
	compared := func(was, is string) *compare.Comparison {
		t.Helper()
		before, err := s.Log.Run(t.Context(), was)
		require.NoError(t, err)
		after, err := s.Log.Run(t.Context(), is)
		require.NoError(t, err)
		found, err := compare.Runs(t.Context(), s.Log.Reader, before, after)
		require.NoError(t, err)
		return found
	}
	listed := func(was, is string, filter compare.Filter) []compare.PairedRow {
		t.Helper()
		before, err := s.Log.Run(t.Context(), was)
		require.NoError(t, err)
		after, err := s.Log.Run(t.Context(), is)
		require.NoError(t, err)
		all, err := compare.Rows(t.Context(), s.Log.Reader, before, after, filter, nil, 0)
		require.NoError(t, err)
		for at := range all { // the list that goes on after each row
			token, err := s.Log.ParseToken(t.Context(), was, all[at].Was)
			require.NoError(t, err)
			rest, err := compare.Rows(t.Context(), s.Log.Reader, before, after, filter, &token, 2)
			require.NoError(t, err)
			require.Equal(t, append([]compare.PairedRow{}, all[at+1:min(at+3, len(all))]...), rest)
		}
		return all
	}
	first := begin(forked)
	with := func(old, text string) *compare.Comparison {
		t.Helper()
		require.Contains(t, forked, old)
		return compared(first, begin(strings.ReplaceAll(forked, old, text)))
	}

	same := with("chunk: {rows: 10}", "chunk: {rows: 7}")
	require.True(t, same.Same())
	require.EqualValues(t, 40, same.Rows)
	require.False(t, same.Document)

	few, gate := rand.IntN(12), rand.IntN(12)
	other := strings.NewReplacer("row.n < 9", fmt.Sprint("row.n <= ", few), "row.n > 4", fmt.Sprint("row.n > ", gate)).Replace(forked)
	require.Equal(t, endsBy(8, 4, few, gate), compared(first, begin(other)).Ends, "few %d, gate %d", few, gate)

	found := with("gate: row.n > 4", "gate: row.n > 3")
	five := []compare.Pair{{Was: "orders:5", Is: "orders:5"}, {Was: "orders:15", Is: "orders:15"}, {Was: "orders:35", Is: "orders:35"}} // in row 25 it is no number
	require.Equal(t, []compare.Blame{{Node: "triage", Rows: 3, Flipped: 3, Examples: five}}, found.Disagreed)
	require.Equal(t, []compare.Flip{{
		From: "good (default_flow) and small (gate_routed)", To: "good (default_flow) and large (default_flow)", Rows: 3, Examples: five,
	}}, found.Flips)

	ended := found.Flips[0]
	var want []compare.PairedRow
	for _, pair := range five {
		want = append(want, compare.PairedRow{Pair: pair, From: ended.From, To: ended.To, Node: "triage"})
	}
	for _, filter := range []compare.Filter{{}, {Kind: compare.Flipped}, {Node: "triage"}, {From: ended.From, To: ended.To}, {From: ended.From, Kind: compare.Flipped, Node: "triage"}} {
		require.Equal(t, want, listed(first, found.Is.ID, filter), "%+v", filter)
	}
	require.Empty(t, listed(first, found.Is.ID, compare.Filter{Kind: compare.Changed}))
	require.Empty(t, listed(first, found.Is.ID, compare.Filter{Node: "few"}))
	for _, ends := range found.Ends {
		filter := compare.Filter{From: ends.Was, To: ends.Is}
		require.Len(t, listed(first, found.Is.ID, filter), int(ends.Rows), "%+v", ends)
		require.Equal(t, ends.Rows, found.Count(filter))
	}

	found = with("filter: row.n < 9", "filter: row.n < 8")
	require.Equal(t, []any{"few", int64(4), int64(4)}, []any{found.Disagreed[0].Node, found.Disagreed[0].Rows, found.Disagreed[0].Flipped}, "a row that is dropped was dropped there")
	require.Len(t, found.Disagreed, 1)

	found = with("half: 100 /", "half: 50 /")
	require.Equal(t, []any{"half", int64(35), int64(0)}, []any{found.Disagreed[0].Node, found.Disagreed[0].Rows, found.Disagreed[0].Flipped})
	require.Equal(t, []any{int64(0), int64(35)}, []any{found.Flipped, found.Changed}, "half of 50 is another one in every row that is not refused")

	found = with("half: 100 / row.n", "half: 100 / (row.n - 1)")
	require.Equal(t, []any{int64(8), int64(4)}, []any{found.Flipped, found.Refused}, "four are refused now, and four are not any more")
	require.Len(t, found.Disagreed, 1)
	require.Equal(t, "half", found.Disagreed[0].Node)
	require.Len(t, listed(first, found.Is.ID, compare.Filter{Kind: compare.Refused}), 4)
	require.Len(t, listed(first, found.Is.ID, compare.Filter{Kind: compare.Flipped}), 8)
	require.EqualValues(t, found.Changed, len(listed(first, found.Is.ID, compare.Filter{Kind: compare.Changed})))

	found = with("  - {name: views,", "  - {name: marked, set: {mark: \"'x'\"}}\n  - {name: views,")
	require.Equal(t, []any{"marked", int64(31)}, []any{found.Disagreed[0].Node, found.Disagreed[0].Rows}, "a new step is to blame")
	require.Len(t, found.Disagreed, 1)
	found = with("routes: {\"true\": continue, \"false\": small}", "routes: {\"true\": small, \"false\": continue}")
	require.Equal(t, []any{"triage", int64(31), int64(31)}, []any{found.Disagreed[0].Node, found.Disagreed[0].Rows, found.Disagreed[0].Flipped}, "routes led elsewhere")

	sorted := `name: best
sources: {orders: {csv: {path: in.csv}, schema: {fields: {id: int, n: int}}, on_invalid: quarantine}}
steps: [{name: best, sort: {by: {n: desc}, top: 3}}]
sinks: {good: {jsonl: {path: out/good.jsonl}}}
`
	found = compared(begin(sorted), begin(strings.Replace(sorted, "top: 3", "top: 1", 1)))
	require.Equal(t, []any{int64(0), int64(0), []string{"best"}}, []any{found.Flipped, found.Changed, found.Barriers})
	three, one := int64(3), int64(1)
	require.Equal(t, []compare.Output{{Sink: "good", Was: &three, Is: &one, Fields: []schema.Change{}}}, found.Outputs)
	require.False(t, found.Same(), "what barriers make is compared as a whole")
	require.True(t, compared(begin(sorted), begin(sorted)).Same())

	lines := strings.SplitAfter(forkedRows(), "\n")
	s.Write(t, map[string]string{"in.csv": lines[0] + "99,1\n" + strings.Join(lines[1:30], "") + strings.Join(lines[31:], "")})
	found = compared(first, begin(forked))
	require.Equal(t, []compare.Source{{Name: "orders", Was: 40, Is: 40, Moved: 29, OnlyWas: 1, OnlyIs: 1}}, found.Sources, "what is after the removed row has its place again")
	require.EqualValues(t, 39, found.Rows)
	require.Empty(t, listed(first, found.Is.ID, compare.Filter{}))
	moved := 0
	for _, ends := range found.Ends {
		for _, row := range listed(first, found.Is.ID, compare.Filter{From: ends.Was, To: ends.Is}) {
			if row.Was != row.Is {
				moved++
			}
		}
	}
	require.Equal(t, 29, moved, "a row that moved has both of its numbers")
	require.Empty(t, found.Disagreed)
	require.False(t, found.Same())
}
