package graphs_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/inprocess"
)

const topOnly = `
name: within
sources: {s: {jsonl: {path: in.jsonl}, schema: {fields: {id: int}}}}
steps:
  - {name: copies, fork: [a, b]}
  - {name: best, from: a, sort: {by: {id: asc}, top: 1}}
  - {name: meet, coalesce: {a: best, b: b}, on_error: refused}
sinks:
  out: {jsonl: {path: out.jsonl}, from: meet}
  refused: {jsonl: {path: refused.jsonl}}
`

// TestLostWithinABarrier has a branch that ends in a sort, which lets only the first of its rows go on: the coalesce is told.
func TestLostWithinABarrier(t *testing.T) {
	r := &record{inprocess.New(t)}
	require.NoError(t, r.Run(t, "within", topOnly, map[string]string{"in.jsonl": "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n"}, nil))
	var told []string
	r.Query(t, "within", `select fork_group_id || ' ' || fired_by || ' ' || result || ' ' || branches_lost
		from coalesce_events where run_id = ? order by row`, func(rows *sql.Rows) error {
		var line string
		err := rows.Scan(&line)
		told = append(told, line)
		return err
	})
	require.Equal(t, []string{"s:1 all merged {}", `s:2 lost refused {"a":"batch_consumed"}`, `s:3 lost refused {"a":"batch_consumed"}`}, told)
}
