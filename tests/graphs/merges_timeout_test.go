package graphs_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/plugin"
	"waymark/tests/inprocess"
	"waymark/tests/sample"
)

// waiting has two branches that come to the coalesce at once, and one that for row 1 comes when all is over. The timeout
// passes, and then the clock fires, while the source more is idle; then it brings many rows that wait for nothing.
const waiting = `
name: waiting
sources:
  one: {jsonl: {path: one.jsonl}, schema: {fields: {id: int}}}
  more: {jsonl: {path: more.jsonl}, schema: {fields: {id: int}}}
chunk: {rows: %d}
steps:
  - {name: copies, fork: [quick, other, slow, timed]}
  - {name: late, from: slow, gate: row.id == 1, routes: {"true": wait, "false": meet}}
  - {name: wait, sort: {by: {id: asc}}}
  - {name: meet, coalesce: {quick: quick, other: other, slow: wait}, policy: %s, timeout: 60ms, on_error: refused}
  - {name: clock, from: timed, aggregate: {compute: {rows: count()}}, trigger: {after: 120ms}}
sinks:
  out: {jsonl: {path: out.jsonl}, from: meet}
  ticks: {jsonl: {path: ticks.jsonl}, from: clock}
  refused: {jsonl: {path: refused.jsonl}}
`

// others returns how many rows come between the timeout and the branch that is late: a few chunks, and under one policy
// very many if every case is tried.
func others(policy string) int {
	if policy == "best_effort" && sample.All() {
		return 10_001
	}
	return 101
}

// timeouts say what becomes of the row whose third branch does not come in time.
var timeouts = map[string]decision{
	"require_all": {Policy: "require_all", Arrived: "quick other", NotNeeded: "slow", FiredBy: "timeout", Result: "refused", Code: "INCOMPLETE_BRANCHES"},
	"{quorum: 2}": {Policy: "quorum", Quorum: "2", Arrived: "quick other", NotNeeded: "slow", FiredBy: "quorum", Result: "merged"},
	"{quorum: 3}": {Policy: "quorum", Quorum: "3", Arrived: "quick other", NotNeeded: "slow", FiredBy: "timeout", Result: "refused", Code: "QUORUM_NOT_MET"},
	"best_effort": {Policy: "best_effort", Arrived: "quick other", NotNeeded: "slow", FiredBy: "timeout", Result: "merged"},
	"first":       {Policy: "first", Arrived: "quick", NotNeeded: "other slow", FiredBy: "first", Result: "merged"},
}

// TestTimeouts lets the timeout pass under every policy. A branch that comes after the decision is not needed, and is never
// merged again, however much came in between.
func TestTimeouts(t *testing.T) {
	for policy, want := range timeouts {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			r := &record{inprocess.New(t)}
			ticked := make(chan struct{})
			tick := sync.OnceFunc(func() { close(ticked) })
			r.Planner = wrapping{r.Planner, 1, func(source plugin.Source) plugin.Source { return idle{source, ticked} }}
			var rest strings.Builder
			for i := range others(policy) {
				fmt.Fprintf(&rest, "{\"id\":%d}\n", i+2)
			}
			files := map[string]string{"one.jsonl": "{\"id\":1}\n", "more.jsonl": large + rest.String()}
			err := r.Run(t, "timeout", fmt.Sprintf(waiting, others(policy)*2/5, policy), files, func(env *testsuite.TestWorkflowEnvironment) {
				env.SetOnActivityStartedListener(func(_ *sdk.Info, _ context.Context, args converter.EncodedValues) {
					var in activities.Batch[activities.FoldInput]
					if args.Get(&in) == nil && len(in.Each) > 0 && in.Each[0].Kind == activities.FoldTick && in.Each[0].Barrier == "clock" {
						tick()
					}
				})
			})
			require.NoError(t, err)
			r.requireTimeout(t, want)
			r.requireOthers(t, want.Policy)
		})
	}
}

// requireTimeout requires what the table says of the row whose third branch was late.
func (r *record) requireTimeout(t *testing.T, want decision) {
	t.Helper()
	var got decision
	var waited, decided int
	var batch, order, merged string
	r.Query(t, "timeout", `select policy, coalesce(quorum, ''), branches_arrived, branches_not_needed, fired_by, result, code, wait_ms, arrival_order,
			coalesce(merged_token_id, ''), batch_id
		from coalesce_events where run_id = ? and source = 'one'`, func(rows *sql.Rows) error {
		decided++
		return rows.Scan(&got.Policy, &got.Quorum, &got.Arrived, &got.NotNeeded, &got.FiredBy, &got.Result, &got.Code, &waited, &order, &merged, &batch)
	})
	got.Arrived, got.NotNeeded = words(decoded[[]string](t, got.Arrived)), words(decoded[[]string](t, got.NotNeeded))
	require.Equal(t, want, got)
	require.Equal(t, 1, decided)
	require.Equal(t, map[bool]int{true: 60, false: 0}[want.FiredBy == "timeout"], waited, "milliseconds from the first branch to the decision")
	var late []string
	r.Query(t, "timeout", `select t.token_id, b.path, b.node || ':' || b.of
		from tokens t
		join batches b on b.run_id = t.run_id and b.node = t.barrier and b.batch = t.batch
		where t.run_id = ? and t.source = 'wait'`, func(rows *sql.Rows) error {
		var token, path, of string
		err := rows.Scan(&token, &path, &of)
		late = append(late, token, path, of)
		return err
	})
	require.Equal(t, []string{"wait:1", "branch_not_needed", batch}, late)
	ends := map[string]string{"merged": "default_flow out", "refused": "on_error_routed refused"}
	r.Query(t, "timeout", `select token_id, path || ' ' || sink from token_outcomes where run_id = ? and source = 'meet' and row = 1`, func(rows *sql.Rows) error {
		var token, end string
		err := rows.Scan(&token, &end)
		require.Equal(t, [2]string{merged, ends[want.Result]}, [2]string{token, end})
		return err
	})
}

// requireOthers requires that every other row was merged, once and without a timeout.
func (r *record) requireOthers(t *testing.T, policy string) {
	t.Helper()
	firedBy := map[string]string{"require_all": "all", "best_effort": "all", "quorum": "quorum", "first": "first"}[policy]
	r.Query(t, "timeout", `select count(*), count(distinct row), min(fired_by), max(fired_by), min(result), max(result)
		from coalesce_events where run_id = ? and source = 'more'`, func(rows *sql.Rows) error {
		var all, keys int
		var words [4]string
		err := rows.Scan(&all, &keys, &words[0], &words[1], &words[2], &words[3])
		require.Equal(t, [2]int{others(policy), others(policy)}, [2]int{all, keys})
		require.Equal(t, [4]string{firedBy, firedBy, "merged", "merged"}, words)
		return err
	})
}

// wrapping makes plans one of whose sources is wrapped.
type wrapping struct {
	recompute.Planner
	source int // its place in the document
	wrap   func(plugin.Source) plugin.Source
}

func (p wrapping) Plan(request plan.Request) (*plan.Plan, error) {
	compiled, err := p.Planner.Plan(request)
	if err == nil {
		node := &compiled.Nodes[compiled.Sources()[p.source]]
		node.Source = p.wrap(node.Source)
	}
	return compiled, err
}

// idle is a source that has nothing to read before it may.
type idle struct {
	plugin.Source
	mayRead chan struct{}
}

func (s idle) Open(ctx context.Context, at plugin.Cursor, pin plugin.SourceInfo) (plugin.Reader, error) {
	select {
	case <-s.mayRead:
		return s.Source.Open(ctx, at, pin)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// large is blanks that make a file too large to be read in one batch with others.
var large = strings.Repeat(" ", 33<<10)
