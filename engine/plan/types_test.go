package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
	"waymark/plugin"
)

// towns is a lookup's table: what is found by kind.
var towns = plugin.NewTable("towns.csv", []byte("code,town,since\n"), 1, []string{"kind"},
	[]plugin.TableField{{Name: "code", Kind: row.String}},
	[]plugin.TableField{{Name: "town", Kind: row.String}, {Name: "since", Kind: row.Int, Optional: true}},
	map[string][]row.Value{})

// typed are steps behind the source, with the fields of the rows that the sink gets, or what is said of them.
var typed = map[string]struct{ steps, fields, problems string }{
	"a fork passes rows on as they came": {steps: `
  - {name: f, fork: [a, b]}
  - {name: l, from: [b, a], sample: {rate: "0.5", by: [kind]}}`,
		fields: "id:int kind:string amount:int?"},
	"a union": {steps: `
  - {name: f, fork: [a, b]}
  - {name: l, from: a, set: {left: row.id * 2, amount: "1"}}
  - {name: r, from: b, select: [id, amount]}
  - {name: j, coalesce: {a: l, b: r}}`,
		fields: "id:int kind:string amount:int left:int"},
	"a union of kinds, and the last one wins": {steps: `
  - {name: f, fork: [a, b]}
  - {name: l, from: a, set: {id: string(row.id)}}
  - {name: j, coalesce: {a: l, b: b}}`,
		fields: "id:int kind:string amount:int?"},
	"a union of kinds, and the first one wins": {steps: `
  - {name: f, fork: [a, b]}
  - {name: l, from: a, set: {id: string(row.id)}}
  - {name: j, coalesce: {b: b, a: l}, collision: first}`,
		fields: "id:string kind:string amount:int?"},
	"a union of kinds, and the winner may have none": {steps: `
  - {name: f, fork: [a, b]}
  - {name: l, from: a, set: {amount: "'x'"}}
  - {name: j, coalesce: {a: l, b: b}}`,
		problems: `p.yaml:7:15: steps[2].coalesce: "amount" is string in branch "a" and int in branch "b": cast it alike before they meet, or drop it in one`},
	"a union of kinds that must not differ": {steps: `
  - {name: f, fork: [a, b]}
  - {name: l, from: a, set: {id: string(row.id)}}
  - {name: j, coalesce: {a: l, b: b}, collision: fail}`,
		problems: `p.yaml:7:15: steps[2].coalesce: "id" is string in branch "a" and int in branch "b": cast it alike before they meet, or drop it in one`},
	"a union of whatever is there": {steps: `
  - {name: f, fork: [a, b]}
  - {name: l, from: a, set: {left: row.id * 2}}
  - {name: r, from: b, drop: [kind]}
  - {name: j, coalesce: {a: l, b: r}, policy: best_effort}`,
		fields: "id:int kind:string? amount:int? left:int?"},
	"a union of whatever is there, of kinds": {steps: `
  - {name: f, fork: [a, b]}
  - {name: l, from: a, set: {id: string(row.id)}}
  - {name: j, coalesce: {a: l, b: b}, policy: {quorum: 1}}`,
		problems: `p.yaml:7:15: steps[2].coalesce: "id" is string in branch "a" and int in branch "b": cast it alike before they meet, or drop it in one`},
	"a nested row": {steps: `
  - {name: f, fork: [a, b]}
  - {name: j, coalesce: {b: b, a: a}, merge: nested}`,
		fields: "a:json b:json"},
	"a nested row of some": {steps: `
  - {name: f, fork: [a, b]}
  - {name: j, coalesce: {a: a, b: b}, merge: nested, policy: first}`,
		fields: "a:json? b:json?"},
	"a branch's row": {steps: `
  - {name: f, fork: [a, b]}
  - {name: l, from: a, set: {left: row.id * 2}}
  - {name: j, coalesce: {a: l, b: b}, merge: {select: b}}`,
		fields: "id:int kind:string amount:int?"},
	"rows of one branch that differ": {steps: `
  - {name: f, fork: [a, b]}
  - {name: g, from: a, gate: row.id > 1, routes: {"true": continue, "false": j}}
  - {name: l, cast: {id: string}}
  - {name: j, coalesce: {a: l, b: b}}`,
		problems: `p.yaml:8:29: steps[3].coalesce.a: the rows of branch "a" differ: "id" is int by one way and string by another; cast them alike before they meet`},
	"a sort": {steps: `
  - {name: s, sort: {by: {id: desc, kind: asc}, top: 2, group_by: [kind]}, trigger: {rows: 5, after: 1s}}`,
		fields: "id:int kind:string amount:int?"},
	"a sort by fields that are not there": {steps: `
  - {name: s, sort: {by: {idd: desc, kind: asc}, group_by: [knd]}}`,
		problems: `p.yaml:5:32: steps[0].sort.by.idd: no field named "idd" (did you mean "id"?)
p.yaml:5:61: steps[0].sort.group_by[0]: no field named "knd" (did you mean "kind"?)`},
	"a key that is not there": {steps: `
  - {name: s, deduplicate: {key: [id, knd], keep: last}}`,
		problems: `p.yaml:5:39: steps[0].deduplicate.key[1]: no field named "knd" (did you mean "kind"?)`},
	"a sample by what is not there": {steps: `
  - {name: s, sample: {rate: "0.5", by: [knd]}}`,
		problems: `p.yaml:5:42: steps[0].sample.by[0]: no field named "knd" (did you mean "kind"?)`},
	"the elements of a text": {steps: `
  - {name: x, expand: {field: kind, split: ";", as: one, index: nr}}`,
		fields: "id:int kind:string amount:int? one:string nr:int"},
	"the elements of a list": {steps: `
  - {name: c, cast: {kind: json}}
  - {name: x, expand: {field: kind}}`,
		fields: "id:int kind:json? amount:int?"},
	"a text without split": {steps: `
  - {name: x, expand: {field: kind}}`,
		problems: `p.yaml:5:31: steps[0].expand.field: "kind" is string: say with split what is between its elements, or cast it to json`},
	"a number is no list": {steps: `
  - {name: x, expand: {field: id}}`,
		problems: `p.yaml:5:31: steps[0].expand.field: "id" is int; expand takes a json field that holds a list, or a string field with split`},
	"a number is not split": {steps: `
  - {name: x, expand: {field: id, split: ";"}}`,
		problems: `p.yaml:5:31: steps[0].expand.field: "id" is int; only a string is split`},
	"a list that is not there": {steps: `
  - {name: x, expand: {field: knd, split: ";"}}`,
		problems: `p.yaml:5:31: steps[0].expand.field: no field named "knd" (did you mean "kind"?)`},
	"one row of a group": {steps: `
  - {name: g, aggregate: {group_by: [kind], compute: {n: count(), sum: sum(row.amount), mean: mean(row.id), all: collect(row.id)}, expect_rows: 3}, trigger: {rows: 9, after: 1s, when: batch.n > 4 && batch.rows > 5}}`,
		fields: "kind:string n:int sum:int? mean:float all:json"},
	"each row of a group": {steps: `
  - {name: g, aggregate: {group_by: [kind], compute: {id: max(row.id), share: double(sum(row.id)) / double(count())}, mode: passthrough}}`,
		fields: "id:int kind:string amount:int? share:float"},
	"a computation that reads a row": {steps: `
  - {name: g, aggregate: {compute: {a: row.id, b: sum(row.idd)}}}`,
		problems: `p.yaml:5:40: steps[0].aggregate.compute.a: 1:5: row.id belongs to one row, and a batch has many: write first(row.id), or another aggregate function of it
p.yaml:5:51: steps[0].aggregate.compute.b: 1:9: the row has no field "idd" (did you mean "id"?); its fields: id, kind, amount`},
	"a group of fields that are not there": {steps: `
  - {name: g, aggregate: {group_by: [knd], compute: {n: count()}}}`,
		problems: `p.yaml:5:38: steps[0].aggregate.group_by[0]: no field named "knd" (did you mean "kind"?)`},
	"a trigger on what is not computed": {steps: `
  - {name: g, aggregate: {compute: {n: count()}}, trigger: {when: batch.m > 1}}`,
		problems: `p.yaml:5:67: steps[0].trigger.when: 1:7: the batch has no field "m"; its fields: n, rows`},
	"a trigger that is no condition": {steps: `
  - {name: g, aggregate: {compute: {n: count()}}, trigger: {when: batch.n}}`,
		problems: `p.yaml:5:67: steps[0].trigger.when: 1:1: the expression gives int, and must give true or false`},
	"a lookup": {steps: `
  - {name: u, lookup: {csv: {path: towns.csv}, on: {kind: code}, add: {town: town, since: since}}}`,
		fields: "id:int kind:string amount:int? town:string? since:int?"},
	"a lookup that refuses": {steps: `
  - {name: u, lookup: {csv: {path: towns.csv}, on: {kind: code}, add: {town: town, since: since}, missing: refuse}}`,
		fields: "id:int kind:string amount:int? town:string since:int?"},
	"a lookup by another kind": {steps: `
  - {name: n, set: {kind: row.id}}
  - {name: u, lookup: {csv: {path: towns.csv}, on: {kind: code}, add: {town: town, since: since}}}`,
		problems: `p.yaml:6:59: steps[1].lookup.on.kind: "kind" is int and "code" of the table is string, which are never equal: cast one of them`},
	"a lookup by a field that is not there": {steps: `
  - {name: n, drop: [kind]}
  - {name: u, lookup: {csv: {path: towns.csv}, on: {kind: code}, add: {town: town, since: since}}}`,
		problems: `p.yaml:6:59: steps[1].lookup.on.kind: no field named "kind"; the rows here have: id, amount`},
	"a table that cannot be read": {steps: `
  - {name: u, lookup: {csv: {path: none.csv}, on: {kind: code}, add: {town: town}}}`,
		problems: `p.yaml:5:15: steps[0].lookup: no such table`},
}

// open are steps behind a source whose rows may have more fields than the declared ones, as in typed.
var open = map[string]struct{ steps, fields, problems string }{
	"a union in which a branch may have what another declares": {steps: `
  - {name: f, fork: [a, b]}
  - {name: l, from: a, set: {left: row.id * 2}}
  - {name: j, coalesce: {a: l, b: b}}`,
		fields: "id:int ..."},
	"a union in which the winner declares it": {steps: `
  - {name: f, fork: [a, b]}
  - {name: l, from: a, set: {left: row.id * 2}}
  - {name: j, coalesce: {a: l, b: b}, collision: first}`,
		fields: "id:int left:int ..."},
	"groups of what may be there": {steps: `
  - {name: g, aggregate: {group_by: [kind], compute: {n: count(), some: first(row.other)}}}`,
		fields: "kind:json? n:int some:json?"},
	"an order of what may be there": {steps: `
  - {name: s, sort: {by: {other: asc}}}`,
		fields: "id:int ..."},
	"a list that may be there": {steps: `
  - {name: x, expand: {field: items, as: item, index: nr}}`,
		fields: "id:int item:json? nr:int ..."},
	"a lookup by what may be there": {steps: `
  - {name: u, lookup: {csv: {path: towns.csv}, on: {kind: code}, add: {town: town, since: since}}}`,
		fields: "id:int town:string? since:int? ..."},
}

func TestTypesOfRowsThatMeetAndGather(t *testing.T) {
	for name, test := range typed {
		t.Run(name, func(t *testing.T) { requireTypes(t, source, test) })
	}
	for name, test := range open {
		t.Run(name, func(t *testing.T) { requireTypes(t, openSource, test) })
	}
}

const openSource = `name: p
sources:
  in: {jsonl: {path: in.jsonl}, schema: {mode: flexible, fields: {id: int}}}
`

func requireTypes(t *testing.T, source string, test struct{ steps, fields, problems string }) {
	t.Helper()
	p, err := compile(t, source+"steps:"+test.steps+"\nsinks: {out: {jsonl: {path: o}}}\n")
	if test.problems != "" {
		require.EqualError(t, err, test.problems)
		return
	}
	require.NoError(t, err)
	nodes := p.Describe().Nodes
	sink := nodes[len(nodes)-1]
	if sink.Open {
		sink.Fields = append(sink.Fields, "...")
	}
	require.Equal(t, test.fields, strings.Join(sink.Fields, " "))
}

func TestTablesFindByTheWholeKey(t *testing.T) {
	one, other := []row.Value{row.StringValue("one")}, []row.Value{row.StringValue("other")}
	key := func(a, b int64) []row.Value { return []row.Value{row.IntValue(a), row.IntValue(b)} }
	table := plugin.NewTable("t.csv", []byte("x"), 2, []string{"a", "b"}, nil, nil, map[string][]row.Value{
		string(plugin.AppendTableKey(nil, key(1, 23))): one,
		string(plugin.AppendTableKey(nil, key(12, 3))): other,
	})
	require.Equal(t, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", table.SHA256)
	var scratch []byte
	for a, want := range map[int64][]row.Value{1: one, 12: other, 123: nil} {
		values, found, reuse := table.Find(key(a, map[int64]int64{1: 23, 12: 3}[a]), scratch)
		require.Equal(t, want != nil, found)
		require.Equal(t, want, values)
		scratch = reuse
	}
}
