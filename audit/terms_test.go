package audit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// worded has every step that goes by expressions or fields.
const worded = `
name: worded
sources: {in: {jsonl: {path: in.jsonl}, schema: {fields: {id: int, cost: string, kind: string, list: string, parts: int}}}}
steps:
  - {name: typed, cast: {cost: float, id: string}}
  - {name: said, set: {half: "row.cost / 2.0", share: "row.parts == 0 ? 0 : 100 / row.parts"}, on_error: quarantine}
  - {name: town, lookup: {jsonl: {path: towns.jsonl}, schema: {fields: {code: string, name: string}}, on: {kind: code}, add: {town: name}}}
  - {name: once, deduplicate: {key: [id, kind]}}
  - {name: put, sort: {by: {cost: desc, id: asc}, group_by: [kind]}}
  - {name: each, expand: {field: list, split: ";"}}
  - {name: tens, set: {ten: "10 / row.parts"}, on_error: quarantine}
  - {name: sums, aggregate: {group_by: [kind], compute: {mean: "sum(row.cost) / double(count())", most: max(row.parts + 1)}}, trigger: {when: "batch.rows >= 2 && batch.most > 2"}}
sinks:
  out: {jsonl: {path: out.jsonl}, from: sums}
`

// playWorded runs the worded document.
func playWorded(t *testing.T) about {
	t.Helper()
	return recordWith(t, worded, map[string]string{
		"in.jsonl":    `{"id":1,"cost":"5","kind":"a","list":"x;y","parts":2}` + "\n" + `{"id":2,"cost":"8","kind":"b","list":"z","parts":0}` + "\n",
		"towns.jsonl": `{"code":"a","name":"Aix"}` + "\n",
	})
}

// TestTerms holds how expressions, and the fields that steps go by, are told with what they were for the row.
func TestTerms(t *testing.T) {
	a := playWorded(t)
	for token, nodes := range map[string]map[string]string{
		"in:1": {
			"typed (cast)": `
  cost: float
    row.cost = "5"
  id: string
    row.id = 1`,
			"said (set)": `
  half: row.cost / 2.0
    row.cost / 2.0 = 2.5
      row.cost = 5.0
  share: row.parts == 0 ? 0 : 100 / row.parts
    row.parts == 0 ? 0 : 100 / row.parts = 50
      row.parts == 0 = false
        row.parts = 2
      100 / row.parts = 50
        row.parts = 2`,
			"town (lookup)": `
  on code  row.kind = "a"`,
			"once (deduplicate)": `
  key      row.id = "1"
  key      row.kind = "a"`,
			"put (sort)": `
  group by row.kind = "a"
  descending by row.cost = 5.0
  ascending by row.id = "1"`,
		},
		"put:1": {
			"each (expand)": `
  field    row.list = "x;y"`,
		},
		"each:1": {
			"sums (aggregate)": `
  group by row.kind = "a"
  mean: sum(row.cost) / double(count())
    row.cost = 5.0
  most: max(row.parts + 1)
    row.parts + 1 = 3
      row.parts = 2`,
		},
		"each:3": {
			"tens (set)": `
  ten: 10 / row.parts
    10 / row.parts = error: division by zero (DIVISION_BY_ZERO)
      row.parts = 0
  refused  DIVISION_BY_ZERO: ten: `,
		},
	} {
		text := textOf(t, a.tell(t, token))
		for node, want := range nodes {
			_, told, found := strings.Cut(text, "\n"+node)
			require.True(t, found, "%s at %s:\n%s", token, node, text)
			told, _, _ = strings.Cut(told, "\n\n")
			require.Contains(t, told, want, "%s at %s", token, node)
		}
	}
}

// TestBatchTerms holds what the computed fields of a batch and the condition of its trigger were, computed again from its rows.
func TestBatchTerms(t *testing.T) {
	a := playWorded(t)
	require.Contains(t, textOf(t, a.tell(t, "sums:1")), `
  made of  each:1, each:2
  mean: sum(row.cost) / double(count())
    sum(row.cost) / double(count()) = 5.0
      sum(row.cost) = 10.0
      double(count()) = 2.0
        count() = 2
    sum(row.cost) comes from each:1 5.0 (50.0 %), each:2 5.0 (50.0 %)
  most: max(row.parts + 1)
    max(row.parts + 1) = 3
    max(row.parts + 1) comes from each:1, each:2
  when: batch.rows >= 2 && batch.most > 2
    batch.rows >= 2 && batch.most > 2 = true
      batch.rows >= 2 = true
        batch.rows = 2
      batch.most > 2 = true
        batch.most = 3

`)
}
