package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
)

// graphs are documents whose lanes and contexts are on file in testdata/lanes.
var graphs = map[string]string{
	"fork": `
steps:
  - {name: split, fork: [a, b]}
  - {name: left, from: a, set: {side: "'left'"}}
  - {name: meet, coalesce: {a: left, b: b}}
sinks: {out: {jsonl: {path: o}}}
`,
	"copies": `
steps:
  - {name: split, fork: [a, b]}
sinks: {one: {jsonl: {path: o}, from: a}, two: {jsonl: {path: p}, from: b}}
`,
	"nested": `
steps:
  - {name: outer, fork: [a, b]}
  - {name: inner, from: a, fork: [x, y]}
  - {name: seen, from: x, drop: [amount]}
  - {name: near, coalesce: {y: y, x: seen}}
  - {name: far, coalesce: {b: b, a: near}}
sinks: {out: {jsonl: {path: o}}}
`,
	"held": `
steps:
  - {name: outer, fork: [a, b]}
  - {name: inner, from: a, fork: [x, y]}
  - {name: ordered, from: x, sort: {by: {id: asc}, top: 3}}
  - {name: near, coalesce: {x: ordered, y: y}, policy: best_effort}
  - {name: far, coalesce: {a: near, b: b}}
  - {name: after, fork: [p, q]}
sinks: {one: {jsonl: {path: o}, from: p}, two: {jsonl: {path: p}, from: q}}
`,
	"a fork in a gate's branch": `
steps:
  - {name: split, fork: [a, b, c]}
  - {name: big, from: a, gate: row.id > 9, routes: {"true": continue, "false": meet}}
  - {name: copies, fork: [x, y]}
  - {name: again, coalesce: {x: x, y: y}}
  - {name: meet, coalesce: {a: again, b: b}}
sinks: {out: {jsonl: {path: o}}, rest: {jsonl: {path: p}, from: c}}
`,
	"a batch between fork and coalesce": `
steps:
  - {name: split, fork: [a, b]}
  - {name: shares, from: a, aggregate: {compute: {total: sum(row.amount)}, mode: passthrough}}
  - {name: meet, coalesce: {a: shares, b: b}, timeout: 5s}
  - {name: sums, aggregate: {group_by: [kind], compute: {n: count()}}}
sinks: {out: {jsonl: {path: o}}}
`,
	"a step behind a fork that a gate feeds": `
steps:
  - {name: choose, gate: row.id > 1, routes: {"true": continue, "false": single}}
  - {name: split, fork: [a, b]}
  - {name: single, drop: [amount]}
sinks: {out: {jsonl: {path: o}}, copies: {jsonl: {path: p}, from: [a, b]}}
`,
	"two sources": `
steps:
  - {name: split, fork: [a, b]}
  - {name: listed, from: a, expand: {field: kind, split: ";"}}
  - {name: summed, aggregate: {group_by: [kind], compute: {n: count()}}}
  - {name: rest, from: b, drop: [amount]}
sinks: {sums: {jsonl: {path: o}, from: summed}, rows: {jsonl: {path: p}, from: [rest]}}
`,
	"branches that go together": `
steps:
  - {name: split, fork: [a, b, c]}
  - {name: both, from: [a, b], set: {seen: "true"}}
  - {name: meet, coalesce: {a: both, b: both, c: c}}
sinks: {out: {jsonl: {path: o}}}
`,
	"what a gate sends into a coalesce": `
steps:
  - {name: split, fork: [a, b]}
  - {name: choose, from: a, gate: row.id > 1, routes: {"true": meet, "false": rest}}
  - {name: meet, coalesce: {a: choose, b: b}, policy: best_effort}
sinks: {out: {jsonl: {path: o}, from: meet}, rest: {jsonl: {path: p}}}
`,
}

const secondSource = `  more: {csv: {path: more.csv}, schema: {fields: {id: int, kind: string, amount: "int?"}}}
`

// TestLanes holds the lanes, contexts and barriers of plans.
func TestLanes(t *testing.T) {
	for name, rest := range graphs {
		t.Run(name, func(t *testing.T) {
			begin := source
			if name == "two sources" {
				begin += secondSource
			}
			p, err := compile(t, begin+strings.TrimPrefix(rest, "\n"))
			require.NoError(t, err)
			requireGolden(t, "lanes/"+strings.ReplaceAll(strings.ReplaceAll(name, " ", "_"), "'", "")+".text", lanesText(p))
		})
	}
}

// TestDepths holds that a coalesce is deeper than a sort from which no row comes to it, and which decides that a branch
// is lost.
func TestDepths(t *testing.T) {
	p, err := compile(t, source+`steps:
  - {name: split, fork: [a, b]}
  - {name: choose, from: b, gate: row.id > 1, routes: {"true": meet, "false": away}}
  - {name: away, sort: {by: {id: asc}}}
  - {name: gone, drop: [amount]}
  - {name: kept, from: a, drop: [amount]}
  - {name: meet, coalesce: {a: kept, b: choose}, policy: best_effort}
sinks: {out: {jsonl: {path: o}, from: meet}, rest: {jsonl: {path: p}, from: gone}}
`)
	require.NoError(t, err)
	depths := p.Depths()
	require.Zero(t, depths[p.Find("away")])
	require.Equal(t, 1, depths[p.Find("meet")])
}

// lanesText writes what a plan says of lanes, one line for each lane and barrier.
func lanesText(p *plan.Plan) string {
	var b strings.Builder
	for i, lane := range p.Lanes {
		fmt.Fprintf(&b, "%d %s/%s context=%s", i, p.Nodes[lane.Origin].Name, lane.Name, contextText(p, lane.Context))
		if lane.Parent != plan.None {
			fmt.Fprintf(&b, " parent=%d node=%s branch=%q", lane.Parent, p.Nodes[lane.Node].Name, lane.Branch)
		}
		for node := range p.Nodes {
			if branches, ok := lane.Forks[node]; ok {
				fmt.Fprintf(&b, " %s→%v", p.Nodes[node].Name, branches)
			}
			if merged, ok := lane.Merged[node]; ok {
				fmt.Fprintf(&b, " %s⇒%d", p.Nodes[node].Name, merged)
			}
		}
		b.WriteString("\n")
	}
	for i := range p.Nodes {
		node := &p.Nodes[i]
		if node.Barrier {
			fmt.Fprintf(&b, "barrier %s keeps=%v context=%s root=%d\n", node.Name, node.Keeps, contextText(p, node.Context), p.RootLane(i))
		}
		if node.Coalescing != nil {
			fmt.Fprintf(&b, "join %s of %s: %v held=%v hashes=%v\n", node.Name, p.Nodes[node.Coalescing.Fork].Name, node.Coalescing.Branches, node.Coalescing.Held, node.Changes())
		}
	}
	return b.String()
}

func contextText(p *plan.Plan, context []plan.Branch) string {
	words := []string{}
	for _, branch := range context {
		coalesce := "nobody"
		if branch.Coalesce != plan.None {
			coalesce = p.Nodes[branch.Coalesce].Name
		}
		words = append(words, fmt.Sprintf("%s.%s→%s", p.Nodes[branch.Fork].Name, branch.Name, coalesce))
	}
	return "[" + strings.Join(words, " ") + "]"
}
