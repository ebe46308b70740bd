package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/pipeline"
)

func TestBranchesAreTokensOfTheirOwn(t *testing.T) {
	p, _, result := run(t, head+`
steps:
  - {name: both, fork: [left, right]}
  - {name: double, from: left, set: {amount: row.amount * 2}}
  - {name: some, from: right, filter: row.id > 1}
sinks:
  l: {jsonl: {path: out/l.jsonl}, from: double}
  r: {jsonl: {path: out/r.jsonl}, from: some}
`, "id,kind,amount\n1,a,10\n2,b,\n")
	require.Equal(t, map[string][]string{
		"":      {"in>both fork_parent ", "in>both fork_parent "},
		"left":  {"double>l default_flow l", "double on_error_routed __quarantine__"},
		"right": {"some filter_dropped ", "some>r default_flow r"},
	}, allRoutes(p, result))
	require.Equal(t, `{"id":1,"kind":"a","amount":20}`+"\n", output(p, result, "l"))
	require.Equal(t, `{"id":2,"kind":"b","amount":null}`+"\n", output(p, result, "r"), "what one branch does to the row the other does not see")
	require.Equal(t, []engine.Rejected{{Lane: 1, Index: 1, Rejection: result.Rejected[0].Rejection}}, result.Rejected)
}

func TestBranchesOfOnePassAreJoined(t *testing.T) {
	p, _, result := run(t, head+`
steps:
  - {name: both, fork: [left, right]}
  - {name: double, from: left, set: {twice: row.amount * 2}}
  - {name: name, from: right, set: {label: "row.kind + '!'"}}
  - {name: meet, coalesce: {left: double, right: name}}
  - {name: after, set: {sum: "row.twice + row.id"}}
sinks:
  all: {jsonl: {path: out/all.jsonl}}
`, "id,kind,amount\n1,a,10\n2,b,\n3,c,7\n")
	require.Equal(t, map[string][]string{
		"":      {"in>both fork_parent ", "in>both fork_parent ", "in>both fork_parent "},
		"left":  {"double>meet coalesced ", "double on_error_routed __quarantine__", "double>meet coalesced "},
		"right": {"name>meet coalesced ", "name>meet coalesced ", "name>meet coalesced "},
		"meet":  {"meet>after>all default_flow all", "meet on_error_routed __quarantine__", "meet>after>all default_flow all"},
	}, allRoutes(p, result))
	require.Equal(t, `{"id":1,"kind":"a","amount":10,"twice":20,"label":"a!","sum":21}`, strings.Split(output(p, result, "all"), "\n")[0])
	require.Len(t, result.Merges, 1)
	require.Equal(t, []uint16{0, 1, 0}, result.Merges[0].Codes)
	require.Equal(t, 2, result.Merges[0].Decisions[0].Rows)
	require.Equal(t, barrier.FiredByAll, result.Merges[0].Decisions[0].FiredBy)
	require.Equal(t, []barrier.Lost{{Branch: 0, Reason: pipeline.OnErrorRouted}}, result.Merges[0].Decisions[1].Lost)
	require.Equal(t, barrier.CodeIncompleteBranches, result.Merges[0].Decisions[1].Rejected.Code)
}

func TestAGateCanEndABranchAtItsCoalesce(t *testing.T) {
	p, _, result := run(t, head+`
steps:
  - {name: both, fork: [left, right]}
  - {name: check, from: left, gate: row.id == 1, routes: {"true": meet, "false": aside}}
  - {name: inner, from: right, fork: [deep, flat]}
  - {name: mark, from: deep, set: {deep: "true"}}
  - {name: join, coalesce: {deep: mark, flat: flat}}
  - {name: meet, coalesce: {left: check, right: join}, policy: best_effort}
sinks:
  aside: {jsonl: {path: out/aside.jsonl}}
  all: {jsonl: {path: out/all.jsonl}, from: meet}
`, "id,kind,amount\n1,a,10\n2,b,5\n")
	require.Equal(t, map[string][]string{
		"":           {"in>both fork_parent ", "in>both fork_parent "},
		"left":       {"check=true>meet coalesced ", "check=false>aside gate_routed aside"},
		"right":      {"inner fork_parent ", "inner fork_parent "},
		"right/deep": {"mark>join coalesced ", "mark>join coalesced "},
		"right/flat": {"join coalesced ", "join coalesced "},
		"right/join": {"join>meet coalesced ", "join>meet coalesced "},
		"meet":       {"meet>all default_flow all", "meet>all default_flow all"},
	}, allRoutes(p, result))
	require.Equal(t, []uint16{0, 1}, result.Merges[1].Codes)
	require.Equal(t, []barrier.Lost{{Branch: 0, Reason: pipeline.GateRouted}}, result.Merges[1].Decisions[1].Lost)
}

func TestBarrierHoldsOrLoses(t *testing.T) {
	p, _, result := run(t, head+`
steps:
  - {name: both, fork: [left, right]}
  - {name: best, from: left, sort: {by: {amount: desc}}}
  - {name: some, from: right, filter: row.id > 1}
  - {name: meet, coalesce: {left: best, right: some}}
sinks:
  all: {jsonl: {path: out/all.jsonl}}
`, "id,kind,amount\n1,a,10\n2,b,5\n")
	require.Equal(t, map[string][]string{
		"":      {"in>both fork_parent ", "in>both fork_parent "},
		"left":  {"best buffered ", "best buffered "},
		"right": {"some filter_dropped ", "some>meet buffered "},
	}, allRoutes(p, result))
	best, meet := result.Arrivals[p.Find("best")], result.Arrivals[p.Find("meet")]
	require.Len(t, best.List, 2)
	require.Equal(t, []barrier.Token{{Lane: 0, Row: 2}}, best.List[1].Keys)
	require.Equal(t, barrier.Token{Lane: 1, Row: 2}, best.List[1].Token)
	require.Len(t, meet.List, 1)
	require.Equal(t, 1, meet.List[0].Branch)
	require.Equal(t, []barrier.Loss{{Keys: []barrier.Token{{Lane: 0, Row: 1}}, Branch: 1, Reason: pipeline.FilterDropped}}, meet.Losses)
}

func TestOnlyTheFirstTokenOfAKeyPasses(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("id,kind,amount\n1,a,1\n2,a,2\n3,b,3\n4,b,4\n"), 0o600))
	p := compile(t, folder, head+`
steps:
  - {name: odd, filter: row.id != 1}
  - {name: once, deduplicate: {key: [kind]}}
sinks: {all: {jsonl: {path: out/all.jsonl}}}
`)
	chunk := read(t, p)
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	values := heard(t, runner, begin(p, chunk))
	require.Equal(t, []barrier.Token{{Row: 2}, {Row: 3}, {Row: 4}}, values.tokens, "what does not come to the node claims nothing")
	in := begin(p, chunk)
	in.Firsts = engine.Duplicates{{Claim: 0, Token: barrier.Token{Row: 4}}: {Row: 3}}
	result, err := runner.Run(in)
	require.NoError(t, err)
	require.Equal(t, []string{
		"in>odd filter_dropped ", "in>odd>once=first>all default_flow all", "in>odd>once=first>all default_flow all", "in>odd>once=duplicate filter_dropped ",
	}, routes(p, result))
	require.Equal(t, []engine.RepeatColumn{{Node: p.Find("once"), Firsts: []barrier.Token{{}, {}, {}, {Row: 3}}}}, result.Repeats)
}

func TestARowWithoutTheFieldOfASampleIsRefused(t *testing.T) {
	_, _, result := run(t, `
name: test
sources: {in: {jsonl: {path: in.csv}, schema: {mode: observed}}}
steps: [{name: some, sample: {rate: 1, seed: 7, by: [k]}}]
sinks: {all: {jsonl: {path: out/all.jsonl}}}
`, `{"k":null}`+"\n{}\n")
	require.Len(t, result.Rejected, 1)
	require.Equal(t, *barrier.NoSuchField("k"), result.Rejected[0].Rejection)
}

// A row without a field of the key is no row with a null there.
func TestARowWithoutTheKeyOfADeduplicateIsRefused(t *testing.T) {
	p, chunk, _ := run(t, `
name: test
sources: {in: {jsonl: {path: in.csv}, schema: {mode: observed}}}
steps: [{name: once, deduplicate: {key: [k]}}]
sinks: {all: {jsonl: {path: out/all.jsonl}}}
`, `{"k":null}`+"\n{}\n{}\n")
	runner, err := engine.NewRunner(p)
	require.NoError(t, err)
	values := heard(t, runner, begin(p, chunk))
	require.Equal(t, []barrier.Token{{Row: 1}}, values.tokens)
	in := begin(p, chunk)
	in.Firsts = engine.Duplicates{}
	result, err := runner.Run(in)
	require.NoError(t, err)
	require.Equal(t, "{\"k\":null}\n", output(p, result, "all"))
	require.Len(t, result.Rejected, 2)
	require.Equal(t, *barrier.NoSuchField("k"), result.Rejected[0].Rejection)
}
