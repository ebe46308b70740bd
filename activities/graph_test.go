package activities_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// graphDocument has every kind of barrier, lanes in forks, and every way in which a branch can miss its coalesce. Two of its
// coalesces are held: the branches of one come in the pass of a sort, those of the one around it behind that.
const graphDocument = `name: graph
chunk: {rows: 4}
sources:
  first: {csv: {path: first.csv}, schema: {fields: {id: int, kind: string, amount: "int?", items: json}}}
  second: {csv: {path: second.csv}, schema: {fields: {id: int, kind: string, amount: "int?", items: json}}}
steps:
  - {name: once, deduplicate: {key: [id]}}
  - {name: named, lookup: {csv: {path: kinds.csv}, "on": {kind: code}, add: {title: title}}}
  - {name: views, fork: [money, words, list, quick]}
  - {name: doubled, from: money, set: {twice: row.amount * 2}}
  - {name: best, from: doubled, sort: {by: {twice: desc}, top: 3, group_by: [kind]}, trigger: {rows: 5}}
  - {name: inner, from: words, fork: [long, short]}
  - {name: upper, from: long, filter: "row.kind != 'c'"}
  - {name: said, coalesce: {long: upper, short: short}, policy: {quorum: 2}}
  - {name: both, coalesce: {money: best, words: said}, policy: best_effort}
  - {name: sums, from: both, aggregate: {group_by: [kind], compute: {n: count(), total: sum(row.twice)}}}
  - {name: lines, from: list, expand: {field: items, as: item, index: nr}}
  - {name: latest, from: lines, deduplicate: {key: [item], keep: last}}
  - {name: shares, from: quick, aggregate: {compute: {all: count()}, mode: passthrough}, trigger: {when: batch.all == 3}}
sinks:
  totals: {jsonl: {path: out/sums.jsonl}, from: sums}
  elements: {jsonl: {path: out/items.jsonl}, from: latest}
  counted: {csv: {path: out/quick.csv, columns: [id, all]}, from: shares}
`

var graphFiles = map[string]string{
	"kinds.csv":  "code,title\na,Apples\nb,Birds\n",
	"first.csv":  "id,kind,amount,items\n1,a,10,[1]\n2,b,,\"[1,2]\"\n3,a,7,[]\n4,c,1,[4]\n5,a,2,\n5,a,3,[9]\n",
	"second.csv": "id,kind,amount,items\n3,b,1,[3]\n7,b,4,[2]\n8,a,6,5\n9,a,9,\"[1,9]\"\n10,c,3,[]\nx,a,1,[]\n",
}

func TestRunOfAGraphLeavesWhatTheDocumentSays(t *testing.T) {
	r := newRig(t, graphDocument, graphFiles)
	records, outputs := playOnce(r)
	require.Equal(t, []string{"items.jsonl", "quick.csv", "sums.jsonl"}, sorted(outputs))
	require.Equal(t, strings.Join([]string{
		`{"kind":"b","n":2,"total":8}`,
		`{"kind":"a","n":5,"total":52}`,
		`{"kind":"c","n":2,"total":8}`, "",
	}, "\n"), outputs["sums.jsonl"])
	require.Equal(t, "id,all\n1,3\n2,3\n3,3\n4,3\n7,3\n8,3\n9,3\n5,3\n10,3\n", outputs["quick.csv"])
	for _, table := range []string{"lanes", "folds", "batches", "members", "merge_kinds", "merge_codes", "chunk_merges",
		"merges", "parents", "lookup_tables", "repeats"} {
		require.NotEmpty(t, records[table], table)
	}
	children, err := r.log.ChildrenOf(t.Context(), runID, landscape.Token{Source: "first", Row: 1, Lane: laneOf(r, "first", "list")})
	require.NoError(t, err)
	require.NotEmpty(t, children)
}

func laneOf(r *rig, source, name string) int64 {
	r.t.Helper()
	token, err := r.log.ParseToken(r.t.Context(), runID, source+":1/"+name)
	require.NoError(r.t, err)
	return token.Lane
}
