package audit_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
)

// graph has a node of every operation that copies, joins, gathers or drops rows. decide joins its branches in one pass; meet
// holds them, because ranked passes a sort.
const graph = `name: shop
chunk: {rows: 3}
sources:
  orders:
    csv: {path: orders.csv}
    key: [id]
    schema: {fields: {id: string, state: string, cost: int, items: string}}
    on_invalid: quarantine
  more:
    csv: {path: more.csv}
    schema: {fields: {id: string, state: string, cost: int, items: string}}
steps:
  - {name: once, deduplicate: {key: [id]}}
  - {name: town, lookup: {csv: {path: towns.csv}, schema: {fields: {code: string, name: string}}, on: {state: code}, add: {town: name}}}
  - {name: opinions, fork: [by_cost, by_state, by_age]}
  - {name: dear, from: by_cost, filter: row.cost > 10}
  - {name: priced, set: {verdict: "'dear'"}}
  - {name: known, from: by_state, filter: row.state != 'NY'}
  - {name: stated, set: {verdict: "'state'"}}
  - name: decide
    coalesce: {by_cost: priced, by_state: stated, by_age: by_age}
    policy: {quorum: 2}
    on_error: refused
  - name: triage
    gate: "row.cost > 100 ? 'big' : 'small'"
    routes: {big: review, small: continue}
  - {name: views, fork: [ranked, plain, lines]}
  - {name: top, from: ranked, sort: {by: {cost: desc}, top: 2}}
  - {name: mark, set: {rank: "'top'"}}
  - {name: rare, from: plain, filter: row.cost != 20}
  - {name: meet, coalesce: {ranked: mark, plain: rare}, policy: first}
  - {name: by_place, aggregate: {group_by: [state], compute: {n: count(), cost: sum(row.cost)}}}
  - {name: each, from: lines, expand: {field: items, split: ";", as: item, index: nr}}
sinks:
  review: {csv: {path: out/review.csv}}
  places: {jsonl: {path: out/places.jsonl}, from: by_place}
  items: {csv: {path: out/items.csv}, from: each}
  refused: {jsonl: {path: out/refused.jsonl}}
`

var graphFiles = map[string]string{
	"towns.csv": "code,name\nTX,Austin\nCA,Fresno\n",
	"orders.csv": "id,state,cost,items\n" +
		"a1,TX,5,x;y\n" + // 1: not dear; not among the first two, and too late
		"a2,TX,50,x\n" + // 2: dear, of a known state, and too late as one of the first two
		"a3,CA,500,z\n" + // 3: to review
		"a1,TX,7,q\n" + // 4: the id of row 1
		"a5,CA,many,z\n" + // 5: rejected at the source
		"a6,CA,20,z\n", // 6: nothing comes to meet
	"more.csv": "id,state,cost,items\n" +
		"b1,NY,5,x;y\n" + // 1: only one branch comes to decide
		"b2,NY,60,\n", // 2: nothing to expand
}

// playGraph returns a fixture in which the graph was run, which others share.
func playGraph(t *testing.T) *fixture {
	t.Helper()
	return sharedRun(t, graph, graphFiles)
}

var (
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	digests = regexp.MustCompile(`[0-9a-f]{64}`)
)

// requireGolden compares a text with a file, moments, digests and the folder left out.
func requireGolden(t *testing.T, s *fixture, name, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, s.Folder, "FOLDER")
	text = digests.ReplaceAllString(moments.ReplaceAllString(text, "MOMENT"), "DIGEST")
	golden := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text, golden)
}

func textOf(t *testing.T, story *audit.Explanation) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, story.WriteText(&b))
	return b.String()
}
