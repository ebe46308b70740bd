package audit_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
)

// chained has barriers of every kind one behind the other, two coalesces in sequence, and lists within lists.
const chained = `
name: chained
chunk: {rows: 3}
sources: {in: {jsonl: {path: in.jsonl}, schema: {fields: {id: int, items: string}}}}
steps:
  - {name: latest, deduplicate: {key: [id], keep: last}}
  - {name: copies, fork: [quick, slow, lines]}
  - {name: ordered, from: slow, sort: {by: {id: desc}}}
  - {name: odd, filter: row.id % 2 == 1}
  - {name: meet, coalesce: {quick: quick, slow: odd}, policy: best_effort}
  - {name: again, fork: [left, right]}
  - {name: ranked, from: left, sort: {by: {id: asc}, top: 4}}
  - {name: both, coalesce: {left: ranked, right: right}, policy: best_effort}
  - {name: sums, aggregate: {group_by: [items], compute: {n: count()}}}
  - {name: outer, from: lines, expand: {field: items, split: ";", as: items}}
  - {name: inner, expand: {field: items, split: "+", as: item, index: nr}}
  - {name: parts, fork: [all, few]}
  - {name: kept, from: few, filter: row.nr > 1}
  - {name: each, from: kept, aggregate: {compute: {largest: max(row.id)}, mode: passthrough}}
sinks:
  totals: {jsonl: {path: totals.jsonl}, from: sums}
  plain: {jsonl: {path: plain.jsonl}, from: all}
  chosen: {jsonl: {path: chosen.jsonl}, from: each}
`

// descent is how SQL tells what came of each token: the lines of outputs on which it or a descendant of it stands.
const descent = `with recursive came(token, child) as (
		select token_id, token_id from tokens where run_id = ?1
		union
		select came.token, p.token_id from came join token_parents p on p.run_id = ?1 and p.parent_token_id = came.child
	)
	select came.token, s.sink || ' ' || s.line_number || ' ' || s.token_id
	from came join sink_rows s on s.run_id = ?1 and s.token_id = came.child
	order by 1, 2`

// playChained runs the chained document.
func playChained(t *testing.T) about {
	t.Helper()
	return record(t, chained, `{"id":1,"items":"a;b+c"}`, `{"id":2,"items":"a;b+c"}`, `{"id":3,"items":"x+y+z;w"}`, `{"id":1,"items":"q"}`,
		`{"id":5,"items":"a"}`, `{"id":6,"items":"q"}`, `{"id":7,"items":"a;a"}`)
}

// TestOnward holds what came of every token of the run, barrier after barrier, against what SQL tells of it.
func TestOnward(t *testing.T) {
	a := playChained(t)
	want := map[string][]string{}
	a.Query(t, run, descent, func(rows *sql.Rows) error {
		var token, line string
		err := rows.Scan(&token, &line)
		want[token] = append(want[token], line)
		return err
	})
	var tokens []string
	a.Query(t, run, `select token_id from tokens where run_id = ? order by 1`, func(rows *sql.Rows) error {
		var token string
		err := rows.Scan(&token)
		tokens = append(tokens, token)
		return err
	})
	beyond := 0
	for _, token := range tokens {
		story := a.tell(t, token)
		if story.Onward == nil {
			require.True(t, story.Held == nil || len(story.Held.Became) == 0, token)
			continue
		}
		beyond++
		got := []string{}
		for _, line := range story.Onward.Lines {
			got = append(got, fmt.Sprintf("%s %d %s", line.Sink, line.Line, line.Token))
			require.NotEmpty(t, line.Output)
		}
		require.ElementsMatch(t, want[token], got, token)
		require.Zero(t, story.Onward.Left)
	}
	require.Greater(t, beyond, 40)
}

// TestOnwardInWords holds what is told of one row, and of one whose followers are too many.
func TestOnwardInWords(t *testing.T) {
	a := playChained(t)
	_, told, _ := strings.Cut(textOf(t, a.tell(t, "in:3")), "\ncame of it\n")
	require.Equal(t, `  plain, row 4 of plain.jsonl: inner:4/all, by latest:2 > latest:2/lines > outer:3 > inner:4
  plain, row 5 of plain.jsonl: inner:5/all, by latest:2 > latest:2/lines > outer:3 > inner:5
  plain, row 6 of plain.jsonl: inner:6/all, by latest:2 > latest:2/lines > outer:3 > inner:6
  plain, row 7 of plain.jsonl: inner:7/all, by latest:2 > latest:2/lines > outer:4 > inner:7
  chosen, row 2 of chosen.jsonl: each:2, by latest:2 > latest:2/lines > outer:3 > inner:5 > inner:5/few
  chosen, row 3 of chosen.jsonl: each:3, by latest:2 > latest:2/lines > outer:3 > inner:6 > inner:6/few
  totals, row 3 of totals.jsonl: sums:3, by latest:2 > latest:2/quick > meet:4 > meet:4/right > both:3
  2 tokens ended at kept: dropped
`, strings.ReplaceAll(told, filepath.Join(a.Folder, run)+"/", ""))
	whole := a.tell(t, "in:3").Onward
	for limit := 1; limit < whole.Tokens; limit++ {
		story, err := a.Explain(t.Context(), audit.Question{Run: run, Token: "in:3", Limit: limit})
		require.NoError(t, err)
		cut := story.Onward
		require.Equal(t, limit, cut.Tokens)
		require.Positive(t, cut.Left)
		require.Equal(t, whole.Lines[:len(cut.Lines)], cut.Lines, "the lines that are nearest")
		require.Contains(t, textOf(t, story), fmt.Sprintf(
			"looked at; %d more came of it, left out here: --limit %d follows them", cut.Left, limit+cut.Left,
		))
	}
}
