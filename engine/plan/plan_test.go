package plan_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
	"waymark/worker/formats"
)

func compile(t *testing.T, document string) (*plan.Plan, error) {
	t.Helper()
	loaded, err := pipeline.Load("p.yaml", []byte(document), pipeline.Environment{})
	require.NoError(t, err)
	root, err := file.NewRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return plan.Compile(loaded, plugins{formats.Formats{Files: file.Access{Root: root}}})
}

// plugins are those of files, with one table in the place of all.
type plugins struct{ formats.Formats }

// Table returns towns.
func (plugins) Table(_ string, spec pipeline.Lookup) (*plugin.Table, error) {
	if spec.CSV.Path != towns.Path {
		return nil, errors.New("no such table")
	}
	return towns, nil
}

const source = `name: p
sources:
  in: {csv: {path: in.csv}, schema: {fields: {id: int, kind: string, amount: "int?"}}}
`

// rejected are documents that load and make no graph, with all that is said of them.
var refused = map[string]struct{ rest, problems string }{
	"from a node that is not there": {`
steps: [{name: a, from: inn, drop: [id]}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:4:25: steps[0].from: no source or step named "inn" (did you mean "in"?)`},
	"from a sink": {`
steps: [{name: a, from: out, drop: [id]}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:4:25: steps[0].from: "out" is a sink; rows end there`},
	"BI-094 a cycle": {`
steps:
  - {name: a, from: b, drop: [id]}
  - {name: b, drop: [kind]}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:5:21: steps[0].from: "b" comes later than "a"; a step takes rows from a node before it`},
	"BI-095 a node that nothing reaches": {`
steps:
  - {name: a, gate: row.id > 1, routes: {"true": out, "false": out}}
  - {name: b, drop: [id]}
sinks: {out: {jsonl: {path: o}}, other: {jsonl: {path: p}, from: b}}`,
		`p.yaml:5:5: steps[0]: "b" takes the rows of the gate "a", but none of its routes continues
p.yaml:6:5: steps[1]: no row ever reaches "b": give it a ` + "`from`" + `, or a route that leads here`},
	"BI-098 a route to a sink that is not there": {`
steps: [{name: a, gate: row.id > 1, routes: {"true": reveiw, "false": continue}}]
sinks: {review: {jsonl: {path: o}}}`,
		`p.yaml:4:54: steps[0].routes.true: no sink or step named "reveiw" (did you mean "review"?)`},
	"a mistyped route and the sink that was meant": {`
steps: [{name: a, gate: row.id > 1, routes: {"true": reveiw, "false": continue}}]
sinks: {review: {jsonl: {path: o}}, other: {jsonl: {path: p}}}`,
		`p.yaml:4:54: steps[0].routes.true: no sink or step named "reveiw" (did you mean "review"?)`},
	"a mistyped policy and the sink that was meant": {`
steps: [{name: a, drop: [id], on_error: rejcted}]
sinks: {rejected: {jsonl: {path: o}}, other: {jsonl: {path: p}}}`,
		`p.yaml:4:41: steps[0].on_error: no sink named "rejcted" (did you mean "rejected"?); refused rows go to quarantine, fail, discard or a sink`},
	"an empty label": {`
steps: [{name: a, gate: row.kind, routes: {"": out, default: out}}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:4:48: steps[0].routes[""]: an empty label would look like none on record: name it in the gate, as in row.a == '' ? 'none' : row.a`},
	"a cast that never works": {`
steps: [{name: a, cast: {id: date, kind: date, amount: bool}}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:4:30: steps[0].cast.id: a field of type int is never cast to date: cast it to string, or compute the value with set
p.yaml:4:56: steps[0].cast.amount: a field of type int is never cast to bool: cast it to string, or compute the value with set`},
	"a route back": {`
steps:
  - {name: a, drop: [id]}
  - {name: b, gate: row.kind == 'x', routes: {"true": a, "false": continue}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:6:55: steps[1].routes.true: "a" comes before "b"; a gate sends rows to a sink or a later step`},
	"a route to a source": {`
steps: [{name: a, gate: row.id > 1, routes: {"true": in, "false": continue}}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:4:54: steps[0].routes.true: "in" is a source; nothing can be sent there`},
	"rows that would go two ways": {`
steps: [{name: a, drop: [id]}]
sinks: {one: {jsonl: {path: o}}, two: {jsonl: {path: p}}}`,
		`p.yaml:5:34: sinks.two: "one" and "two" both take the rows of "a", and a row goes one way; let one take them from the other, divide them with a gate, or copy them with a fork`},
	"rows that go nowhere": {`
steps: [{name: a, drop: [id]}]
sinks: {out: {jsonl: {path: o}, from: in}}`,
		`p.yaml:5:39: sinks.out.from: "a" and "out" both take the rows of "in", and a row goes one way; let one take them from the other, divide them with a gate, or copy them with a fork`},
	"a continue that leads nowhere": {`
steps: [{name: a, gate: row.id > 1, routes: {"true": out, "false": continue}}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:4:68: steps[0].routes.false: continue leads nowhere: no step or sink takes the rows of "a"`},
	"a gate without a route for false": {`
steps: [{name: a, gate: row.id > 1, routes: {"true": out}}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:4:37: steps[0].routes: the gate can be false, and no route says where such rows go; add ` + "`\"false\": continue`" + `, a sink, a later step or discard`},
	"a gate with a route that it never takes": {`
steps: [{name: a, gate: row.id > 1, routes: {"true": out, "false": out, maybe: out}}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:4:80: steps[0].routes.maybe: the gate is true or false and never "maybe"`},
	"a policy that is no sink": {`
steps: [{name: a, drop: [id], on_error: quarantin}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:4:41: steps[0].on_error: no sink named "quarantin" (did you mean "quarantine"?); refused rows go to quarantine, fail, discard or a sink`},
	"a sink of rows and refusals": {`
steps: [{name: a, drop: [id], on_error: out}]
sinks: {out: {jsonl: {path: o}, from: a}}`,
		`p.yaml:5:9: sinks.out: "out" gets refused rows (on_error, on_invalid) and the rows of "a"; they have different fields, so use two sinks`},
	"a field that is not there": {`
steps:
  - {name: a, rename: {knd: sort}}
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:5:29: steps[0].rename.knd: no field named "knd" (did you mean "kind"?)`},
	"a rename onto another field": {`
steps: [{name: a, rename: {kind: id}}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:4:19: steps[0].rename: two fields would be named "id"`},
	"every field dropped": {`
steps: [{name: a, drop: [id, kind, amount]}]
sinks: {out: {jsonl: {path: o}}}`,
		`p.yaml:4:19: steps[0].drop: this drops every field; a row needs at least one`},
	"a path that is not in the folder": {`
sinks: {out: {jsonl: {path: ../o}}}`,
		`p.yaml:4:29: sinks.out.jsonl.path: path "../o": holds ".."; write the absolute path of a file in an allowed folder`},
}

func TestGraphsThatAreRefused(t *testing.T) {
	for name, test := range refused {
		t.Run(name, func(t *testing.T) {
			_, err := compile(t, source+strings.TrimPrefix(test.rest, "\n")+"\n")
			require.Error(t, err)
			require.Equal(t, test.problems, err.Error())
		})
	}
}

func TestExpressionProblemsNameTheirPlace(t *testing.T) {
	_, err := compile(t, source+"steps:\n  - name: a\n    set: {b: row.id + row.kind, c: row.nope}\n  - {name: f, filter: row.id}\nsinks: {out: {jsonl: {path: o}}}\n")
	require.ErrorContains(t, err, "p.yaml:6:14: steps[0].set.b: 1:8:")
	require.ErrorContains(t, err, "p.yaml:6:36: steps[0].set.c: 1:5:")
}

func TestTypesFollowTheRows(t *testing.T) {
	p, err := compile(t, source+`
steps:
  - {name: a, set: {twice: row.amount * 2, ratio: double(row.id) / 2.0, id: string(row.id)}}
  - {name: b, rename: {twice: double}, on_error: fail}
  - {name: c, cast: {double: decimal}}
  - {name: d, select: [double, id]}
sinks: {out: {csv: {path: o.csv}}}
`)
	require.NoError(t, err)
	fields := map[string][]string{}
	for _, node := range p.Describe().Nodes {
		fields[node.Name] = node.Fields
	}
	require.Equal(t, []string{"id:string", "kind:string", "amount:int?", "twice:int", "ratio:float"}, fields["a"])
	require.Equal(t, []string{"id:string", "kind:string", "amount:int?", "double:int", "ratio:float"}, fields["b"])
	require.Equal(t, []string{"double:decimal", "id:string"}, fields["out"])
}

func TestRowsThatMeetMustAgree(t *testing.T) {
	const divided = `
steps:
  - {name: g, gate: row.id > 1, routes: {"true": continue, "false": meet}}
  - {name: a, CHANGE}
  - {name: meet, set: {seen: "true"}}
sinks: {out: {jsonl: {path: o}}}
`
	_, err := compile(t, source+strings.Replace(divided, "CHANGE", "cast: {id: string}", 1))
	require.ErrorContains(t, err, `the rows that reach "meet" differ: "id" is int by one way and string by another; cast them alike before they meet`)
	p, err := compile(t, source+strings.Replace(divided, "CHANGE", "set: {extra: row.id + 1}", 1))
	require.NoError(t, err)
	meet := p.Nodes[p.Find("meet")]
	require.True(t, meet.Out.Open, "a field that only some rows have makes the rows open")
	require.Len(t, meet.Inputs, 2)
}

var update = flag.Bool("update", false, "write the golden files anew")

// golden are documents whose descriptions and drawings are on file in testdata: one that has a node of every kind that
// rows go through on their own, and one with all the others.
var golden = map[string]string{
	"golden": strings.Replace(source, "}}}\n", "}}, on_invalid: bad}\n", 1) + `
steps:
  - {name: keep, filter: row.amount != 0}
  - {name: band, set: {band: "row.amount > 10 ? 'high' : 'low'"}, on_error: bad}
  - {name: sort, gate: row.kind, routes: {x: discard, "y|z": high, default: continue}}
  - {name: last, gate: row.band == 'high', routes: {"true": high, "false": low}, on_error: fail}
sinks:
  high: {csv: {path: high.csv, columns: [id, band]}}
  low: {jsonl: {path: low.jsonl}}
  bad: {jsonl: {path: bad.jsonl}}
`,
	"graph": source + secondSource + `
steps:
  - {name: once, deduplicate: {key: [id]}}
  - {name: some, sample: {rate: "0.5", seed: 7}}
  - {name: town, lookup: {csv: {path: towns.csv}, on: {kind: code}, add: {town: town, since: since}}}
  - {name: views, fork: [plain, ranked, sums]}
  - {name: top, from: ranked, sort: {by: {amount: desc}, top: 3}, trigger: {after: 1h}}
  - {name: whole, coalesce: {plain: plain, ranked: top}, policy: best_effort, timeout: 2s}
  - {name: words, expand: {field: kind, split: " "}}
  - {name: short, drop: [since]}
  - {name: copies, from: sums, fork: [left, right]}
  - {name: again, coalesce: {left: left, right: right}, merge: nested, timeout: 1s}
sinks:
  rows: {csv: {path: rows.csv, columns: [id, kind, town]}, from: short}
  sums_out: {jsonl: {path: sums.jsonl}, from: again}
`,
}

// TestGolden holds the descriptions and drawings of plans. A run continues in another process if its plan has the same
// digest, which is of golden.json.
func TestGolden(t *testing.T) {
	for name, document := range golden {
		p, err := compile(t, document)
		require.NoError(t, err)
		d := p.Describe()
		for i := range d.Nodes {
			if d.Nodes[i].Location != "" {
				d.Nodes[i].Location = filepath.Base(d.Nodes[i].Location)
			}
		}
		for format, write := range map[string]func(*strings.Builder) error{
			"text": func(b *strings.Builder) error { return d.WriteText(b) },
			"dot":  func(b *strings.Builder) error { return d.WriteDOT(b) },
			"mmd":  func(b *strings.Builder) error { return d.WriteMermaid(b) },
			"json": func(b *strings.Builder) error { return json.NewEncoder(b).Encode(d) },
		} {
			var b strings.Builder
			require.NoError(t, write(&b))
			requireGolden(t, name+"."+format, b.String())
		}
	}
}

// requireGolden compares a text with the file of this name in testdata, which it writes if -update is given.
func requireGolden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}

func TestDigestTellsPlansApart(t *testing.T) {
	rest := "steps: [{name: a, set: {b: row.id + 1}}]\nsinks: {out: {jsonl: {path: o}}}\n"
	digests := map[string]bool{}
	for _, document := range []string{
		source + rest, strings.Replace(source+rest, "row.id + 1", "row.id + 2", 1), strings.Replace(source+rest, "amount", "sum", 1),
		"chunk: {rows: 10}\n" + source + rest,
	} {
		p, err := compile(t, document)
		require.NoError(t, err)
		require.Equal(t, p.Digest(), p.Digest())
		digests[p.Digest()] = true
	}
	require.Len(t, digests, 4)
}

// A plan is about what happens to rows, whenever that is: of schedules it has the document's hash alone.
func TestSchedulesAreNotInThePlan(t *testing.T) {
	rest := "sinks: {out: {jsonl: {path: o}}}\n"
	plain, err := compile(t, source+rest)
	require.NoError(t, err)
	scheduled, err := compile(t, source+rest+"schedules: {nightly: {every: day}}\n")
	require.NoError(t, err)
	description := scheduled.Describe()
	require.NotEqual(t, plain.Describe().Document, description.Document)
	description.Document = plain.Describe().Document
	for i := range description.Nodes { // each has a folder of its own
		description.Nodes[i].Location = plain.Describe().Nodes[i].Location
	}
	require.Equal(t, plain.Describe(), description)
}
