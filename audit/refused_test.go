package audit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities/recompute"
	"waymark/audit"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin/plugintest"
)

// tabled is a pipeline whose sinks are tables: good rows go into one, what a step rejects into another.
const tabled = `name: tabled
chunk: {rows: 3}
sources: {orders: {csv: {path: in.csv}, key: [id], schema: {fields: {id: string, n: int}}, on_invalid: quarantine}}
steps:
  - {name: half, set: {half: 100 / row.n}, on_error: rejects}
  - {name: views, fork: [plain, other]}
sinks:
  good: {jsonl: {path: out/good.jsonl}, from: [plain]}
  more: {jsonl: {path: out/more.jsonl}, from: [other]}
  rejects: {jsonl: {path: out/rejects.jsonl}}
totals: {n: row.n}
policies: [{name: all there, assert: sums.unreadable == 0 && sums.good.n + sums.quarantine.n == sums.more.n}]
`

// Row 3 repeats row 1, row 6 row 5; row 4 is rejected by half, and row 7 as well, of which rejects has one already.
const tabledRows = "id,n\na,1\nb,2\na,3\nc,0\nd,5\nd,6\ne,0\n"

// onTables compiles documents whose sinks are tables with unique ids; rejects is one in which a node may stand once.
type onTables struct {
	recompute.Planner
	tables map[string]*plugintest.MemoryTable
}

func (p onTables) Plan(request plan.Request) (*plan.Plan, error) {
	compiled, err := p.Planner.Plan(request)
	if err != nil {
		return nil, err
	}
	for _, i := range compiled.Sinks() {
		compiled.Nodes[i].Sink = p.tables[compiled.Nodes[i].Name].Sink(compiled.Nodes[i].Sink)
	}
	return compiled, nil
}

// playTabled runs the pipeline and returns its tables.
func playTabled(t *testing.T) (*fixture, map[string]*plugintest.MemoryTable) {
	t.Helper()
	tables := map[string]*plugintest.MemoryTable{
		"good": {Name: "good", Key: "id", InOrder: true}, "more": {Name: "more", Key: "n", InOrder: true}, "rejects": {Name: "rejects", Key: "node", InOrder: true},
	}
	s := newFixtureWith(t, func(p recompute.Planner) recompute.Planner { return onTables{p, tables} })
	s.Write(t, map[string]string{"in.csv": tabledRows})
	result, err := s.Run(t, run, tabled)
	require.NoError(t, err)
	require.Equal(t, pipeline.CompletedWithFailures, result.Status)
	require.EqualValues(t, 4, result.Refused, "two by half, two by the table; what rejects refused was refused before")
	return s, tables
}

func TestRowsThatATableRefused(t *testing.T) {
	s, tables := playTabled(t)
	t.Run("explain", func(t *testing.T) { testLateStory(t, s) })
	t.Run("without the plan", func(t *testing.T) { testLateRecordOnly(t, s) })
	t.Run("lines", func(t *testing.T) { testLateLines(t, s, tables) })
	t.Run("why not", func(t *testing.T) { testLateDenials(t, s) })
	t.Run("verify", func(t *testing.T) { testLateVerified(t, s) })
	t.Run("totals", func(t *testing.T) { testRejectedTotals(t, s) })
}

const lateSaid = "sink     written to good; good refused it with SINK_UNIQUE: id: a row with \"a\" is there\n"

func testLateStory(t *testing.T, s *fixture) {
	story := explain(t, s, audit.Question{Token: "orders:3/plain"})
	require.True(t, story.True())
	require.Equal(t, []string{"failure", "on_error_routed", "", "good"}, []string{story.Outcome, story.Path, story.Sink, story.RefusedBy})
	require.Equal(t, &audit.Rejection{Code: "SINK_UNIQUE", Field: "id", Message: `a row with "a" is there`, SentTo: pipeline.QuarantineSink}, story.Refused)
	require.True(t, story.Complete)
	require.Zero(t, story.Line)
	text := textOf(t, story)
	require.Contains(t, text, lateSaid+`written  {"id":"a","n":3,"half":33}`)
	require.Contains(t, text, "outcome  failure: refused (on_error_routed)\n")
	require.Contains(t, text, "good (jsonl)\n  refused  SINK_UNIQUE: id: a row with \"a\" is there\n  sent to  quarantine\n")

	twice := explain(t, s, audit.Question{Row: 7})
	require.Equal(t, []string{"failure", "on_error_routed", "", "rejects"}, []string{twice.Outcome, twice.Path, twice.Sink, twice.RefusedBy})
	require.True(t, twice.True())
	require.Contains(t, textOf(t, twice), "refused  DIVISION_BY_ZERO: ")
	require.Contains(t, textOf(t, twice), "rejects refused it with SINK_UNIQUE: node: ")

	other := explain(t, s, audit.Question{Token: "orders:3/other"})
	require.Equal(t, []any{"success", "more", int64(3)}, []any{other.Outcome, other.Sink, other.Line}, "its copy is delivered")
}

// testLateRecordOnly asks where the document does not compile to the plan of the run.
func testLateRecordOnly(t *testing.T, s *fixture) {
	plain := audit.New(s.Log.Reader, s.Payloads, s.Planner.(onTables).Planner)
	story, err := plain.Explain(t.Context(), audit.Question{Run: run, Token: "orders:3/plain"})
	require.NoError(t, err)
	require.Contains(t, textOf(t, story), lateSaid)
	require.Contains(t, textOf(t, story), "compiles to plan")
	require.Empty(t, story.Written)
}

// testLateLines asks for every line of every table.
func testLateLines(t *testing.T, s *fixture, tables map[string]*plugintest.MemoryTable) {
	for sink, table := range tables {
		for n, line := range table.Lines() {
			story := explain(t, s, audit.Question{Sink: sink, Line: int64(n) + 1})
			at := slices.IndexFunc(story.Tokens, func(token audit.TokenExplanation) bool { return token.Token == story.Token })
			fate := story.Fate
			if at >= 0 {
				fate = story.Tokens[at].Fate
			}
			require.Equal(t, line, fate.Written)
			require.EqualValues(t, n+1, fate.Line)
		}
		_, err := auditor(s).Explain(t.Context(), audit.Question{Run: run, Sink: sink, Line: int64(len(table.Lines())) + 1})
		require.ErrorIs(t, err, landscape.ErrNotFound)
	}
	require.Len(t, tables["good"].Lines(), 3)
	require.Len(t, tables["rejects"].Lines(), 1)
}

func testLateDenials(t *testing.T, s *fixture) {
	for _, c := range []struct{ token, sink, kind, text string }{
		{"orders:3/plain", "good", audit.KindRefused, `it came to good, and when it was written good refused it with SINK_UNIQUE: id: a row with "a" is there`},
		{"orders:1/plain", "good", audit.KindReached, "it did reach good, row 1 of table://good"},
		{"orders:7", "rejects", audit.KindRefused, "it came to rejects, and when it was written rejects refused it with SINK_UNIQUE: node: "},
		{"orders:4", "rejects", audit.KindReached, "it did reach rejects, row 1 of table://rejects"},
		{"orders:7", "good", audit.KindRefused, "half refused it with DIVISION_BY_ZERO"},
	} {
		denial, err := auditor(s).WhyNot(t.Context(), audit.Question{Run: run, Token: c.token}, c.sink)
		require.NoError(t, err)
		require.Equal(t, c.kind, denial.Reasons[0].Kind, c)
		require.Contains(t, denial.Reasons[0].Text, c.text)
		require.Equal(t, c.kind == audit.KindReached, denial.Reached)
	}
}

func testLateVerified(t *testing.T, s *fixture) {
	report := verify(t, s, s.Log.Reader)
	require.Empty(t, report.Problems)
	require.EqualValues(t, 3, report.Late)
	var b strings.Builder
	require.NoError(t, report.WriteText(&b))
	require.Contains(t, b.String(), "note: the targets of sinks refused 3 rows when they were written: which, and why, is as they said\n")
	const late = ` where node = 'good' and row = 3`
	for _, c := range []struct{ name, statement, where, detail string }{
		{"an error less", `delete from errors` + late, "orders chunk 0", "sink good refused 1 row on record, and there are errors of 0"},
		{"an error more", `create temp table extra as select * from errors` + late + `; update extra set row = 1; insert into errors select * from extra`,
			"orders chunk 0", "sink good refused 1 row on record, and there are errors of 2"},
		{"a number", `update effects set refused = 2 where sink = 'good' and chunk = 0`, "orders chunk 0", "sink good refused 2 rows on record, and there are errors of 1"},
		{"a number of nothing", `update effects set refused = 1 where sink = 'more' and chunk = 0`, "orders chunk 0", "sink more refused 1 row on record, and there are errors of 0"},
		{"the record", `update errors set raw = cast('a,4' as blob)` + late, "orders chunk 0", "raw should be"},
		{"the line", `update errors set line = 9` + late, "orders chunk 0", "line should be 4, the record has 9"},
		{"the place", `update errors set byte_offset = 9` + late, "orders chunk 0", "byte_offset should be"},
		{"where it was sent", `update errors set sent_to = 'rejects'` + late, "orders chunk 0", "sent_to should be"},
		{"what it says", `update errors set message = 'another'` + late, "orders chunk 0", "error_hash should be"},
		{"a row that goes elsewhere", `update errors set lane = 2` + late, "orders chunk 0", "is refused by no node, the record has an error"},
		{"a guarantee", `update nodes set guarantee = 'idempotent' where node = 'good'`, "tabled", "guarantee should be"},
	} {
		t.Run(c.name, func(t *testing.T) {
			requireProblem(t, verify(t, s, tampered(t, s, c.statement)), c.where, c.detail)
		})
	}
}

// TestVerifyRefusalsByAFile says on record that a file rejected a row, as no file can.
func TestVerifyRefusalsByAFile(t *testing.T) {
	s := play(t)
	report := verify(t, s, tampered(t, s, `create temp table extra as select * from errors where row = 6; update extra set row = 1, node = 'ledger', sent_to = '__quarantine__';
		insert into errors select * from extra; update effects set refused = 1 where sink = 'ledger' and chunk = 0`))
	requireProblem(t, report, "orders chunk 0", "sink ledger refused 1 row on record, and it is none that can refuse single rows")
}

// testRejectedTotals looks where the amounts of rows are that tables refused, and changes what is recorded of them.
func testRejectedTotals(t *testing.T, s *fixture) {
	totals, err := s.Log.Totals(t.Context(), run)
	require.NoError(t, err)
	accounts := map[string][]string{}
	for _, n := range totals.Nodes {
		accounts[n.Node] = []string{n.In, n.Out, n.Diverted}
	}
	require.Equal(t, []string{"17", "8", "9"}, accounts["good"])
	require.Equal(t, []string{"17", "17", "0"}, accounts["more"])
	require.Equal(t, map[string]string{"n": "9"}, totals.Quarantined)
	require.Zero(t, totals.Unreadable)
	for statement, want := range map[string]string{
		`update rejected_totals set amount = '2' where sink = 'good' and chunk = 0`:          "rejected_totals run-1/good/orders/0/n: amount should be",
		`update rejected_totals set unreadable = 1 where sink = 'rejects'`:                   "rejected_totals run-1/rejects/orders/2/n: unreadable should be 0, the record has 1",
		`delete from rejected_totals where sink = 'good' and chunk = 1`:                      "rejected_totals run-1/good/orders/1/n: should be one, the record has none",
		`insert into rejected_totals values ('run-1', 'more', 'orders', 0, 'n', '5', 0)`:     "rejected_totals run-1/more/orders/0/n: should be none, the record has one",
		`insert into rejected_totals values ('run-1', 'good', 'orders', 0, 'other', '5', 0)`: "rejected_totals run-1/good/orders/0/other: should be none, the record has one",
	} {
		require.True(t, slices.ContainsFunc(verify(t, s, tampered(t, s, statement)).Problems, func(p audit.Problem) bool {
			return p.Kind == audit.RecordDiffers && strings.Contains(p.Detail, want)
		}), statement)
	}
}
