package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unjoined are documents whose branches do not meet as they should, with all that is said of them.
var unjoined = map[string]struct{ rest, problems string }{
	"a step behind a fork without from": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: l, drop: [id]}
sinks: {out: {jsonl: {path: o}, from: [l, a, b]}}`,
		`p.yaml:6:5: steps[1]: the rows of "f" go down its branches: take those of one with ` + "`from: a`"},
	"a sink behind a fork without from": {`
steps: [{name: f, fork: [a, b]}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:5:9: sinks.out: the rows of "f" go down its branches: take those of one with ` + "`from: a`"},
	"branches that go nowhere": {`
steps:
  - {name: f, fork: [a, b, c]}
  - {name: l, from: b, drop: [id]}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:5:22: steps[0].fork[0]: the rows of branch "a" go nowhere: let a step or a sink take them with ` + "`from: a`" + `
p.yaml:5:28: steps[0].fork[2]: the rows of branch "c" go nowhere: let a step or a sink take them with ` + "`from: c`"},
	"a branch that two take": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: l, from: a, drop: [id]}
  - {name: r, from: [b, a], drop: [id]}
sinks: {out: {jsonl: {path: o}, from: [l, r]}}`,
		`p.yaml:7:25: steps[2].from[1]: "l" and "r" both take the rows of "a", and a row goes one way; let one take them from the other, divide them with a gate, or copy them with a fork`},
	"a mistyped branch": {`
steps:
  - {name: f, fork: [left, right]}
  - {name: l, from: lfet, drop: [id]}
sinks: {out: {jsonl: {path: o}, from: [left, right, l]}}`,
		`p.yaml:6:21: steps[1].from: no source or step named "lfet" (did you mean "left"?)`},
	"a branch of a fork that comes later": {`
steps:
  - {name: l, from: a, drop: [id]}
  - {name: f, from: in, fork: [a, b]}
sinks: {out: {jsonl: {path: o}, from: [l, b]}}`,
		`p.yaml:5:21: steps[0].from: "f" comes later than "l"; a step takes rows from a node before it`},
	"a route to a branch": {`
steps:
  - {name: g, gate: row.id > 1, routes: {"true": a, "false": continue}}
  - {name: f, fork: [a]}
sinks: {out: {jsonl: {path: o}, from: a}}`,
		`p.yaml:5:50: steps[0].routes.true: "a" is a branch, which takes the rows of its fork alone; a gate sends rows to a sink or a later step`},
	"a coalesce with from": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: j, from: a, coalesce: {a: a, b: b}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:6:21: steps[1].from: a coalesce takes the rows that its branches name; delete from`},
	"a coalesce of a branch that is not there": {`
steps:
  - {name: f, fork: [left, right]}
  - {name: j, coalesce: {left: left, rihgt: right}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:6:45: steps[1].coalesce.rihgt: no branch named "rihgt" (did you mean "right"?)`},
	"a coalesce of a node that is not there": {`
steps:
  - {name: f, fork: [left, right]}
  - {name: seen, from: left, drop: [id]}
  - {name: j, coalesce: {left: sen, right: right}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:7:32: steps[2].coalesce.left: no source or step named "sen" (did you mean "seen"?)`},
	"a coalesce without a fork": {`
steps:
  - {name: j, coalesce: {a: in}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:5:29: steps[0].coalesce.a: no branch named "a"`},
	"a coalesce of branches of two forks": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: g, from: a, fork: [x, y]}
  - {name: j, coalesce: {x: x, b: b}}
sinks: {out: {jsonl: {path: o}, from: [j, y]}}`,
		`p.yaml:7:35: steps[2].coalesce.b: "b" is a branch of "f" and "x" one of "g": a coalesce joins the branches of one fork`},
	"two coalesces over one fork": {`
steps:
  - {name: f, fork: [a, b, c, d]}
  - {name: j, coalesce: {a: a, b: b}}
  - {name: k, coalesce: {c: c, d: d}}
sinks: {out: {jsonl: {path: o}, from: [j, k]}}`,
		`p.yaml:7:15: steps[2].coalesce: "j" joins branches of "f" already: one coalesce joins all branches of a fork that meet`},
	"a coalesce before its fork": {`
steps:
  - {name: j, coalesce: {a: a, b: b}}
  - {name: f, from: in, fork: [a, b]}
sinks: {out: {jsonl: {path: o}, from: j}}`,
		`p.yaml:5:15: steps[0].coalesce: the fork "f" comes later than "j", which joins its branches`},
	"a coalesce of a node that comes later": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: j, coalesce: {a: l, b: b}}
  - {name: l, from: a, drop: [id]}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:6:29: steps[1].coalesce.a: "l" comes later than "j"; a step takes rows from a node before it`},
	"a branch that never gets to its coalesce": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: l, from: a, drop: [id]}
  - {name: j, coalesce: {a: l, b: l}}
sinks: {out: {jsonl: {path: o}}, rest: {jsonl: {path: p}, from: b}}`,
		`p.yaml:7:35: steps[2].coalesce.b: branch "b" never reaches "j": lead its rows there, or leave it out`},
	"a branch that is kept back for longer than its coalesce waits": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: g, from: a, gate: row.id > 1, routes: {"true": late, "false": j}}
  - {name: j, coalesce: {a: g, b: b}}
  - {name: k, from: j, gate: row.id > 2, routes: {"true": out, "false": discard}}
  - {name: late, sort: {by: {id: asc}}}
sinks: {out: {jsonl: {path: o}}, rest: {jsonl: {path: p}, from: late}}`,
		`p.yaml:9:5: steps[4]: "late" keeps rows of branch "a" back and comes after "j", which waits to hear of them: move it before "j"`},
	"branches that come by each other's nodes": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: l, from: a, drop: [id]}
  - {name: m, from: b, drop: [id]}
  - {name: j, coalesce: {a: m, b: l}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:8:29: steps[3].coalesce.a: rows of branch "a" do not come to "j" by "m", but rows of b do: name the node that they come by
p.yaml:8:35: steps[3].coalesce.b: rows of branch "b" do not come to "j" by "l", but rows of a do: name the node that they come by`},
	"a coalesce that no branch reaches": {`
steps:
  - {name: f, from: in, fork: [a, b]}
  - {name: j, coalesce: {a: more}}
sinks: {out: {jsonl: {path: o}}, one: {jsonl: {path: p}, from: [a, b]}}`,
		`p.yaml:7:15: steps[1].coalesce: rows of no branch reach "j" by "more", and it joins a of "f": lead them past it, or name their branch
p.yaml:7:29: steps[1].coalesce.a: branch "a" never reaches "j": lead its rows there, or leave it out`},
	"a coalesce behind a barrier that makes rows": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: lines, from: a, expand: {field: kind, split: ";"}}
  - {name: l, drop: [id]}
  - {name: j, coalesce: {a: l, b: b}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:8:29: steps[3].coalesce.a: branch "a" does not reach "j": the rows that come out of "lines" are new ones, of no branch; move it after the coalesce`},
	"a coalesce behind branches of branches": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: g, from: a, fork: [x, y]}
  - {name: l, from: [x, y], drop: [id]}
  - {name: j, coalesce: {a: l, b: b}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:8:29: steps[3].coalesce.a: branch "a" does not reach "j": its rows go down the branches of "g"; join these first, with a coalesce of their own`},
	"forks that are joined in the wrong order": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: g, from: a, fork: [x, y]}
  - {name: l, from: [x, y], drop: [id]}
  - {name: j, coalesce: {a: l, b: b}}
  - {name: k, coalesce: {x: j, y: j}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:8:29: steps[3].coalesce.a: branch "a" does not reach "j": its rows go down the branches of "g"; join these first, with a coalesce of their own`},
	"a branch that the coalesce does not name": {`
steps:
  - {name: f, fork: [a, b, c]}
  - {name: l, from: [b, c], drop: [id]}
  - {name: j, coalesce: {a: a, b: l}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:7:15: steps[2].coalesce: rows of branch "c" reach "j" by "l", and it joins a, b of "f": lead them past it, or name their branch`},
	"rows that a gate sends around the fork": {`
steps:
  - {name: g, gate: row.id > 1, routes: {"true": continue, "false": j}}
  - {name: f, fork: [a, b]}
  - {name: j, coalesce: {a: a, b: b}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:7:15: steps[2].coalesce: rows of no branch reach "j" by "g", and it joins a, b of "f": lead them past it, or name their branch`},
	"a keeping barrier of several branches": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: s, from: [a, b], sort: {by: {id: asc}}}
  - {name: j, coalesce: {a: s, b: s}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:6:5: steps[1]: "s" gathers rows of branch "a" and rows of branch "b", which nothing could tell apart after it: give each a step of its own, or join them first`},
	"a keeping barrier of rows from inside and outside": {`
steps:
  - {name: f, fork: [a, b]}
  - {name: g, from: a, fork: [x, y]}
  - {name: j, coalesce: {x: x, y: y}}
  - {name: s, from: [j, b], deduplicate: {key: [id], keep: last}}
  - {name: k, coalesce: {a: s, b: s}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:8:5: steps[3]: "s" gathers rows of branch "b" and rows of branch "a", which nothing could tell apart after it: give each a step of its own, or join them first`},
	"a source that nothing takes": {`
steps: [{name: l, from: in, drop: [id]}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:4:3: sources.more: the rows of "more" go nowhere: let a sink take them with ` + "`from: more`"},
	"two sources that one step takes with a third node": {`
steps:
  - {name: l, from: [in, nope], drop: [id]}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:6:26: steps[0].from[1]: no source or step named "nope" (there are: in, more, l)`},
}

func TestBranchesThatDoNotMeet(t *testing.T) {
	for name, test := range unjoined {
		t.Run(name, func(t *testing.T) {
			document := source
			if strings.Contains(test.problems, "more") {
				document += secondSource
			}
			_, err := compile(t, document+strings.TrimPrefix(test.rest, "\n")+"\n")
			require.EqualError(t, err, test.problems)
		})
	}
}

func TestLimitsOfBranches(t *testing.T) {
	_, err := compile(t, source+"steps:\n"+chain(8, "")+"sinks: {out: {jsonl: {path: o}, from: [a7, b7]}}\n")
	require.EqualError(t, err, `p.yaml:4:1: steps: sources, branches, coalesces and barriers make more than 256 kinds of rows: join branches before rows are copied again`)
	p, err := compile(t, source+"steps:\n"+chain(7, "")+"sinks: {out: {jsonl: {path: o}, from: [a6, b6]}}\n")
	require.NoError(t, err)
	require.Len(t, p.Lanes, 255)

	_, err = compile(t, source+"steps:\n  - {name: all, fork: [a, b]}\n"+chain(7, "a")+"  - {name: j, coalesce: {a: a6, b: b6}}\nsinks: {out: {jsonl: {path: o}, from: [j, b]}}\n")
	require.EqualError(t, err, `p.yaml:13:5: steps[8]: rows reach "j" by more than 64 combinations of branches: join branches before rows are copied again`)
}

// chain writes forks of which each takes the branches of the one before, and the first those of from.
func chain(length int, from string) string {
	var b strings.Builder
	for i := range length {
		if from != "" {
			from = "from: [" + from + "], "
		}
		fmt.Fprintf(&b, "  - {name: f%d, %sfork: [a%d, b%d]}\n", i, from, i, i)
		from = fmt.Sprintf("a%d, b%d", i, i)
	}
	return b.String()
}
