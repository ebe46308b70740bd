package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/engine/plan"
)

const totaled = `
name: test
sources:
  in:
    csv: {path: in.csv}
    schema:
      fields: {id: {type: int, unique: true}, kind: string, amount: "decimal?"}
totals: {amount: row.amount, rows: "1"}
`

// sums returns the sums of every way of all lanes, as lane: way: total@step=sum, with the number of unreadable amounts after a ?.
func sums(p *plan.Plan, result *engine.Result) []string {
	var all []string
	for _, lane := range result.Lanes {
		for _, way := range lane.Ways {
			var nodes, of []string
			for _, step := range way.Steps {
				nodes = append(nodes, p.Nodes[step.Node].Name)
			}
			for _, sum := range way.Sums {
				text := fmt.Sprintf("%s@%d=%s", p.Totals[sum.Total].Name, sum.Step, sum.Sum.String())
				if sum.Unreadable > 0 {
					text += fmt.Sprintf("?%d", sum.Unreadable)
				}
				of = append(of, text)
			}
			all = append(all, fmt.Sprintf("%s%s %s", strings.Join(nodes, ">"), p.Lanes[lane.Lane].Name, strings.Join(of, " ")))
		}
	}
	return all
}

// TestTotalsOfEveryWay: amounts are added up by way, and again behind each step that may change them.
func TestTotalsOfEveryWay(t *testing.T) {
	p, _, result := run(t, totaled+`
steps:
  - {name: keep, filter: "row.kind != 'skip'"}
  - {name: named, rename: {amount: net}}
  - {name: taxed, set: {net: "row.net == null ? row.net : row.net * decimal('1.19')"}}
  - {name: text, cast: {net: string}}
  - {name: slim, select: [id, kind]}
  - {name: triage, gate: row.kind, routes: {a: all, b: discard}}
sinks:
  all: {csv: {path: out/all.csv}}
`, "id,kind,amount\n1,a,10\n2,skip,1.50\n3,a,\n4,a,0.01\n5,b,2\n6,z,3\nx,a,7\n1,a,5.25\n8,a,12345678901234567890.5\n")
	require.Equal(t, []string{
		"in>keep>named>taxed>text>slim>triage>all amount@0=12345678901234567905.76?1 rows@0=5 amount@3=14691357892469135807.8544?1 rows@3=5",
		"in>keep amount@0=1.50 rows@0=1",
		"in>keep>named>taxed>text>slim>triage amount@0=2 rows@0=1 amount@3=2.38 rows@3=1",
		"in>keep>named>taxed>text>slim>triage amount@0=3 rows@0=1 amount@3=3.57 rows@3=1",
		"in amount@0=0?1 rows@0=0?1",
	}, sums(p, result))
}

// TestTotalsOfBranches: a copy begins with the amounts of its parent, and a merged row with its own.
func TestTotalsOfBranches(t *testing.T) {
	p, _, result := run(t, totaled+`
steps:
  - {name: copy, fork: [one, two]}
  - {name: half, from: one, set: {amount: "row.id == 3 ? decimal(1) : row.amount * decimal('0.5')"}}
  - {name: sure, from: two, filter: row.id != 2}
  - {name: inner, fork: [x, y]}
  - {name: both, coalesce: {x: x, y: y}, merge: {select: x}}
  - {name: joined, coalesce: {one: half, two: both}, policy: best_effort, collision: first}
sinks:
  all: {csv: {path: out/all.csv, columns: [id, amount]}}
`, "id,kind,amount\n1,a,10\n2,a,20\n3,a,\n")
	require.Equal(t, "1,5.0\n2,10.0\n3,1\n", output(p, result, "all"))
	require.Equal(t, []string{
		"in>copy amount@0=30?1 rows@0=3",
		"in>copy>half>joinedone amount@1=30?1 rows@1=3 amount@2=16.0 rows@2=3",
		"in>copy>sure>innertwo amount@1=10?1 rows@1=2",
		"in>copy>suretwo amount@1=20 rows@1=1",
		"in>copy>sure>inner>bothtwo/x amount@3=10?1 rows@3=2",
		"in>copy>sure>inner>bothtwo/y amount@3=10?1 rows@3=2",
		"both>joinedtwo/both amount@0=10?1 rows@0=2",
		"joined>alljoined amount@0=16.0 rows@0=3",
	}, sums(p, result))
}

// TestTotalsOfRefusedRows: a row that is refused because of another has an amount, one that could not be read has none.
func TestTotalsOfRefusedRows(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("id,kind,amount\n1,a,10\n1,a,5.25\nx,a,7\n2,a,1,9\n"), 0o600))
	p := compile(t, folder, totaled+"sinks: {all: {csv: {path: out/all.csv}}}\n")
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	in := begin(p, read(t, p))
	in.Firsts = engine.Duplicates{{Claim: 0, Token: barrier.Token{Row: 2}}: {Row: 1}}
	for range 2 {
		require.NoError(t, runner.Claim(in), "a pass that only claims adds nothing up")
		result, err := runner.Run(in)
		require.NoError(t, err)
		require.Equal(t, []string{"in>all amount@0=10 rows@0=1", "in amount@0=5.25?2 rows@0=1?2"}, sums(p, result))
	}
}
