package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/fixtures"
	"waymark/tests/sample"
	"waymark/tests/system"
)

const gathering = `
name: gathering
chunk: {rows: 20}
sources:
  first: {csv: {path: first.csv}, schema: {fields: {id: int, kind: string}}}
  second: {csv: {path: second.csv}, schema: {fields: {id: int, kind: string}}}
steps:
  - {name: both, fork: [slow, quick]}
  - {name: best, from: slow, sort: {by: {id: desc}}, trigger: {rows: 35}}
  - {name: meet, coalesce: {slow: best, quick: quick}}
  - {name: copies, fork: [one, all]}
  - {name: sums, from: one, aggregate: {group_by: [kind], compute: {n: count(), top: max(row.id)}}, trigger: {rows: 20}}
  - {name: latest, from: all, deduplicate: {key: [id], keep: last}}
sinks:
  totals: {jsonl: {path: out/totals.jsonl, overwrite: true}, from: sums}
  rows: {csv: {path: out/rows.csv, overwrite: true}, from: latest}
`

// TestBarriersContinueAsNew runs a document in one workflow execution, and in as many as Temporal can be made to ask for: what
// barriers hold continues, in the middle of the rows and at their end.
func TestBarriersContinueAsNew(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	files := map[string]string{"first.csv": fixtures.Numbered(0, 80), "second.csv": fixtures.Numbered(50, 50)}
	var outputs []string
	for _, settings := range []map[string]any{nil, {"limit.historyCount.suggestContinueAsNew": 30}} {
		s := system.Start(t, settings)
		s.Write(t, files)
		result, err := s.Run(t, "gathers", gathering)
		require.NoError(t, err)
		require.EqualValues(t, 130, result.Rows)
		s.Verify(t, "gathers")
		outputs = append(outputs, s.Read(t, "out/totals.jsonl")+s.Read(t, "out/rows.csv"))
	}
	require.Equal(t, outputs[0], outputs[1])
	require.Equal(t, 1+100, strings.Count(outputs[0][strings.Index(outputs[0], "id,kind"):], "\n"), "one row for each id, and the header")
}
