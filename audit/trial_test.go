package audit_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/engine/plan"
)

// forked has rows that go several ways: refused by the source or by a step, filtered, and to several sinks at once.
const forked = `name: forked
chunk: {rows: 10}
sources: {orders: {csv: {path: in.csv}, schema: {fields: {id: int, n: int}}, on_invalid: quarantine}}
steps:
  - {name: half, set: {half: 100 / row.n}, on_error: rejects}
  - {name: few, filter: row.n < 9}
  - {name: views, fork: [plain, other]}
  - {name: triage, from: other, gate: row.n > 4, routes: {"true": continue, "false": small}}
sinks:
  good: {jsonl: {path: out/good.jsonl}, from: [plain]}
  large: {jsonl: {path: out/large.jsonl}, from: [triage]}
  small: {csv: {path: out/small.csv}}
  rejects: {jsonl: {path: out/rejects.jsonl}}
`

// forkedRows are 40 rows: n goes from 0 to 9 again and again, and is no number in row 25.
func forkedRows() string {
	var rows strings.Builder
	rows.WriteString("id,n\n")
	for i := range 40 {
		fmt.Fprintf(&rows, "%d,%d\n", i, i%10)
	}
	return strings.Replace(rows.String(), "\n24,4\n", "\n24,x\n", 1)
}

// endOf is where row number i of forkedRows ends by a document that lets n pass up to few, and sends n above gate to large.
func endOf(i, few, gate int) string {
	switch n := i % 10; {
	case i == 24:
		return "orders (quarantined_at_source)"
	case n == 0:
		return "rejects (on_error_routed)"
	case n > few:
		return "few (filter_dropped)"
	case n > gate:
		return "good (default_flow) and large (default_flow)"
	}
	return "good (default_flow) and small (gate_routed)"
}

// endsBy counts the rows of forkedRows by where they end by one document, and by another one.
func endsBy(few, gate, nextFew, nextGate int) (ends []audit.Ends) {
	for i := range 40 {
		pair := audit.Ends{Was: endOf(i, few, gate), Is: endOf(i, nextFew, nextGate)}
		at := slices.IndexFunc(ends, func(e audit.Ends) bool { return e.Was == pair.Was && e.Is == pair.Is })
		if at < 0 {
			at, ends = len(ends), append(ends, pair)
		}
		ends[at].Rows++
	}
	slices.SortFunc(ends, func(a, b audit.Ends) int { return cmp.Or(strings.Compare(a.Was, b.Was), strings.Compare(a.Is, b.Is)) })
	return ends
}

func TestTry(t *testing.T) {
	s := newFixture(t)
	s.Write(t, map[string]string{"in.csv": forkedRows()})
	_, err := s.Run(t, run, forked)
	require.NoError(t, err)
	recorded, err := s.Log.Run(t.Context(), run)
	require.NoError(t, err)
	try := func(document string) audit.Trial {
		t.Helper()
		next, err := s.Planner.Plan(plan.Request{File: "next.yaml", Folder: s.Folder, Document: []byte(document)})
		require.NoError(t, err)
		trial, err := audit.New(s.Log.Reader, s.Payloads, s.Planner).Try(t.Context(), recorded, next)
		require.NoError(t, err)
		return trial
	}
	none := audit.Trial{Run: run, Rows: 40, Ends: endsBy(8, 4, 8, 4), Flips: []audit.Flip{}, Values: []audit.OtherValues{}}
	require.Equal(t, none, try(forked), "the same plan makes the same of every row")
	require.Equal(t, none, try(strings.Replace(forked, "chunk: {rows: 10}\n", "", 1)))
	for range 20 {
		few, gate := rand.IntN(12), rand.IntN(12)
		other := strings.NewReplacer("row.n < 9", fmt.Sprint("row.n <= ", few), "row.n > 4", fmt.Sprint("row.n > ", gate)).Replace(forked)
		require.Equal(t, endsBy(8, 4, few, gate), try(other).Ends, "few %d, gate %d", few, gate)
	}
	changed := func(old, with string) audit.Trial { t.Helper(); return try(strings.Replace(forked, old, with, 1)) }

	trial := changed("gate: row.n > 4", "gate: row.n > 3")
	require.Equal(t, []audit.Flip{{"small (gate_routed)", "large (default_flow)", 3, []string{"orders:5", "orders:15"}}}, trial.Flips)
	require.Equal(t, []any{int64(3), int64(0)}, []any{trial.Flipped, trial.Refused})
	require.Empty(t, trial.Values, "what goes another way is not said to have other values as well")

	trial = changed("filter: row.n < 9", "filter: row.n < 8")
	require.Equal(t, []audit.Flip{{"good (default_flow) and large (default_flow)", "few (filter_dropped)", 4, []string{"orders:9", "orders:19"}}}, trial.Flips)

	trial = changed("half: 100 /", "half: 50 /")
	require.Empty(t, trial.Flips)
	require.Equal(t, []audit.OtherValues{
		{"good", 31, []string{"orders:2", "orders:3"}}, {"large", 16, []string{"orders:6", "orders:7"}}, {"small", 15, []string{"orders:2", "orders:3"}},
	}, trial.Values)

	trial = changed("half: 100 / row.n", "half: 100 / (row.n - 1)")
	require.Equal(t, []any{int64(8), int64(4)}, []any{trial.Flipped, trial.Refused}, "four are refused now, and four are not any more")
	require.Equal(t, "good (default_flow) and small (gate_routed)", trial.Flips[0].From)
	require.Equal(t, []string{"orders:2", "orders:12"}, trial.Flips[0].Examples)

	trial = changed("on_invalid: quarantine", "on_invalid: fail")
	require.Contains(t, trial.Stops, "row 25")
	trial = changed("{id: int, n: int}", "{nr: int, n: int}")
	require.Contains(t, trial.Stops, `HEADER_MISMATCH: the header does not have the declared columns; missing: "nr"`)
	trial = try(strings.ReplaceAll(forked, "orders:", "others:"))
	require.Equal(t, "the run has the source orders, and the version has none of this name", trial.Left)
}

func TestWhatCannotBeTried(t *testing.T) {
	s := newFixture(t)
	s.Write(t, map[string]string{"in.csv": forkedRows()})
	for step, says := range map[string]string{
		"{name: best, sort: {by: {n: desc}}}":                 "in step best rows wait for each other",
		"{name: once, deduplicate: {key: [n]}}":               "once compares rows with earlier ones",
		"{name: newest, deduplicate: {key: [n], keep: last}}": "in step newest rows wait for each other",
	} {
		document := strings.Replace(forked, "  - {name: few, filter: row.n < 9}\n", "  - "+step+"\n", 1)
		compiled, err := s.Planner.Plan(plan.Request{File: "next.yaml", Folder: s.Folder, Document: []byte(document)})
		if err == nil {
			err = audit.Triable(compiled)
		}
		require.ErrorContains(t, err, says)
	}
}
