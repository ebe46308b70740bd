package barrier

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// Every trigger, and which one counts if several hold.
func TestTriggers(t *testing.T) {
	condition := func(text string) *expr.Program {
		env, err := expr.NewBatchEnv([]expr.Field{{Name: "n", Kind: row.Int}, {Name: "sum", Kind: row.Int, Optional: true}, {Name: "rows", Kind: row.Int}}, false, nil)
		require.NoError(t, err)
		program, err := env.Compile(text, expr.Bool)
		require.NoError(t, err)
		return program
	}
	node := func(spec plan.Batch) plan.Node {
		spec.GroupBy = []string{"k"}
		return aggregateNode(t, spec, "n", "count()", "sum", "sum(row.v)")
	}
	tests := map[string]struct {
		spec plan.Batch
		want string
	}{
		"the end alone": {plan.Batch{}, `
			members [1 2 1 1 2]
			members [3 2 1]
			end
			batch 1 end batch_consumed rows 4, 0s to 20s
			batch 2 end batch_consumed rows 3, 0s to 20s
			batch 3 end batch_consumed rows 1, 10s to 20s
			out 1 {"k":"a","n":4,"sum":8}
			out 2 {"k":"b","n":3,"sum":8}
			out 3 {"k":null,"n":1,"sum":7}`},
		"rows": {plan.Batch{Rows: 2}, `
			members [1 2 1 3 2]
			batch 1 rows batch_consumed rows 2, 0s to 0s
			batch 2 rows batch_consumed rows 2, 0s to 0s
			out 1 {"k":"a","n":2,"sum":4}
			out 2 {"k":"b","n":2,"sum":2}
			members [4 5 3]
			batch 3 rows batch_consumed rows 2, 0s to 10s
			out 3 {"k":"a","n":2,"sum":4}
			end
			batch 4 end batch_consumed rows 1, 10s to 20s
			batch 5 end batch_consumed rows 1, 10s to 20s
			out 4 {"k":null,"n":1,"sum":7}
			out 5 {"k":"b","n":1,"sum":6}`},
		"after: at the deadline, before what comes then": {plan.Batch{After: 10 * time.Second}, `
			members [1 2 1 1 2]
			members [3 4 5]
			batch 1 after batch_consumed rows 3, 0s to 10s
			batch 2 after batch_consumed rows 2, 0s to 10s
			out 1 {"k":"a","n":3,"sum":8}
			out 2 {"k":"b","n":2,"sum":2}
			end
			batch 3 after batch_consumed rows 1, 10s to 20s
			batch 4 after batch_consumed rows 1, 10s to 20s
			batch 5 after batch_consumed rows 1, 10s to 20s
			out 3 {"k":null,"n":1,"sum":7}
			out 4 {"k":"b","n":1,"sum":6}
			out 5 {"k":"a","n":1,"sum":null}`},
		"when, but rows if both hold": {plan.Batch{Rows: 3, When: condition("batch.sum > 3 && batch.rows < 9")}, `
			members [1 2 1 3 2]
			batch 1 when batch_consumed rows 2, 0s to 0s
			batch 3 when batch_consumed rows 1, 0s to 0s
			out 1 {"k":"a","n":2,"sum":4}
			out 3 {"k":"a","n":1,"sum":4}
			members [4 2 5]
			batch 4 when batch_consumed rows 1, 10s to 10s
			batch 2 rows batch_consumed rows 3, 0s to 10s
			out 4 {"k":null,"n":1,"sum":7}
			out 2 {"k":"b","n":3,"sum":8}
			end
			batch 5 end batch_consumed rows 1, 10s to 20s
			out 5 {"k":"a","n":1,"sum":null}`},
		"rows of the step": {plan.Batch{Rows: 4, Together: true, When: condition("batch.sum > 7")}, `
			members [1 2 1 1 3]
			batch 1 rows batch_consumed rows 3, 0s to 0s
			batch 2 rows batch_consumed rows 1, 0s to 0s
			out 1 {"k":"a","n":3,"sum":8}
			out 2 {"k":"b","n":1,"sum":2}
			members [4 3 5]
			batch 3 rows batch_consumed rows 2, 0s to 10s
			batch 4 rows batch_consumed rows 1, 10s to 10s
			batch 5 rows batch_consumed rows 1, 10s to 10s
			out 3 {"k":"b","n":2,"sum":6}
			out 4 {"k":null,"n":1,"sum":7}
			out 5 {"k":"a","n":1,"sum":null}
			end`},
		"expected rows": {plan.Batch{Rows: 4, ExpectRows: 4}, `
			members [1 2 1 1 2]
			members [3 2 1]
			batch 1 rows batch_consumed rows 4, 0s to 10s
			out 1 {"k":"a","n":4,"sum":8}
			end
			batch 2 end batch_consumed rows 3, 0s to 20s
			batch 3 end batch_consumed rows 1, 10s to 20s
			out 2 {"k":"b"} refused BATCH_ROWS: expected 4 rows in the batch, found 3
			out 3 {"k":null} refused BATCH_ROWS: expected 4 rows in the batch, found 1`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node(test.spec))
			got := b.accept(0, `
				{"k":"a","v":1}
				{"k":"b","v":2}
				{"k":"a","v":3}
				{"k":"a","v":4}
				{"k":"b","v":null}`)
			got += b.accept(10, `
				{"k":null,"v":7}
				{"k":"b","v":6}
				{"k":"a","v":null}`)
			require.Equal(t, lines(test.want), got+"end\n"+b.end(20))
		})
	}
}

// What is due fires at its deadline, though it is noticed late, and the machine says when to look.
func TestDeadlines(t *testing.T) {
	b := newBench(t, aggregateNode(t, plan.Batch{GroupBy: []string{"k"}, After: 10 * time.Second, Rows: 2}, "n", "count()"))
	require.Zero(t, b.machine.Deadline())
	b.accept(1, `{"k":"a"}`)
	b.accept(4, `{"k":"b"}`)
	require.Equal(t, at(11), b.machine.Deadline())
	b.accept(5, `{"k":"a"}`) // fires by rows
	require.Equal(t, at(14), b.machine.Deadline())
	require.Empty(t, b.tick(13.999999))
	require.Equal(t, lines(`
		batch 2 after batch_consumed rows 1, 4s to 14s
		out 2 {"k":"b","n":1}`), b.tick(99))
	require.Zero(t, b.machine.Deadline())
	require.Equal(t, "members [3]\n", b.accept(50, `{"k":"c"}`)) // the clock does not go back
	require.Equal(t, at(109), b.machine.Deadline())
}

// Rows that come out again, with the fields of their batch, and still for the same token.
func TestPassthrough(t *testing.T) {
	b := newBench(t, keeping(aggregateNode(t, plan.Batch{GroupBy: []string{"k"}}, "v", "sum(row.v)", "share", "first(row.v) * 10 / sum(row.v)")))
	b.accept(0, `
		{"k":"a","v":1}
		{"k":"b","v":0}
		{"v":3,"x":true,"k":"a"}`)
	require.Equal(t, lines(`
		batch 1 end batch_consumed rows 2, 0s to 1s
		batch 2 end batch_consumed rows 1, 0s to 1s
		out 1 {"k":"a","v":4,"share":2} for 1 in [{9 1}]
		out 1 {"v":4,"x":true,"k":"a","share":2} for 3 in [{9 3}]
		out 2 {"k":"b","v":0} for 2 in [{9 2}] refused DIVISION_BY_ZERO: share: `+divisionByZero(t)), b.end(1))
}

// Fields of several functions, some of which they share.
func TestComputedFields(t *testing.T) {
	fields := []string{"a", "sum(row.v) / count()", "b", "max(row.v + 1)", "c", "mean(row.f) + double(sum(row.v))", "d", "string(count()) + first(row.k) + last(row.k)"}
	for _, test := range []struct {
		node plan.Node
		want string
	}{
		{aggregateNode(t, plan.Batch{}, fields...), `
			out 1 {"a":3,"b":6,"c":11.0,"d":"3xz"}`},
		{keeping(aggregateNode(t, plan.Batch{}, fields...)), `
			out 1 {"k":"x","v":1,"f":1.0,"a":3,"b":6,"c":11.0,"d":"3xz"} for 1 in [{9 1}]
			out 1 {"k":"y","v":5,"f":null,"a":3,"b":6,"c":11.0,"d":"3xz"} for 2 in [{9 2}]
			out 1 {"f":3.0,"k":"z","v":3,"a":3,"b":6,"c":11.0,"d":"3xz"} for 3 in [{9 3}]`},
	} {
		b := newBench(t, test.node)
		b.accept(0, `
			{"k":"x","v":1,"f":1.0}
			{"k":"y","v":5,"f":null}
			{"f":3.0,"k":"z","v":3}`)
		require.Len(t, b.machine.rule.(*batcher).first().totals, 6, "calls are shared")
		require.Equal(t, "batch 1 end batch_consumed rows 3, 0s to 1s\n"+lines(test.want), b.end(1))
	}
}

// divisionByZero is how package expr says it.
func divisionByZero(t *testing.T) string {
	_, err := computed(t, "x", "1 / sum(row.v)")[0].Program.Eval([]row.Value{row.IntValue(0)})
	var failed *expr.EvalError
	require.ErrorAs(t, err, &failed)
	return failed.Message
}

func TestSort(t *testing.T) {
	by := []plan.Order{{Field: "v", Descending: true}, {Field: "k"}}
	rows := `
		{"k":"c","v":1,"n":1}
		{"k":"b","v":null,"n":2}
		{"k":"b","v":2,"n":3}
		{"k":"a","v":2,"n":4}
		{"k":"b","v":2,"n":5}
		{"k":null,"v":2,"n":6}
		{"k":"x","v":"text","n":7}`
	tests := map[string]struct {
		spec plan.Batch
		want string
	}{
		"stable, null first upwards and last downwards": {plan.Batch{By: by}, `
			batch 1 end batch_consumed rows 7, 0s to 1s
			out 1 {"k":"x","v":"text","n":7} for 7 in [{9 7}]
			out 1 {"k":null,"v":2,"n":6} for 6 in [{9 6}]
			out 1 {"k":"a","v":2,"n":4} for 4 in [{9 4}]
			out 1 {"k":"b","v":2,"n":3} for 3 in [{9 3}]
			out 1 {"k":"b","v":2,"n":5} for 5 in [{9 5}]
			out 1 {"k":"c","v":1,"n":1} for 1 in [{9 1}]
			out 1 {"k":"b","v":null,"n":2} for 2 in [{9 2}]`},
		"top of each group": {plan.Batch{By: by, Top: 1, GroupBy: []string{"k"}}, `
			batch 1 end batch_consumed rows 1, 0s to 1s
			batch 2 end batch_consumed rows 3, 0s to 1s
			batch 3 end batch_consumed rows 1, 0s to 1s
			batch 4 end batch_consumed rows 1, 0s to 1s
			batch 5 end batch_consumed rows 1, 0s to 1s
			out 1 {"k":"c","v":1,"n":1} for 1 in [{9 1}]
			out 2 {"k":"b","v":2,"n":3} for 3 in [{9 3}]
			out 3 {"k":"a","v":2,"n":4} for 4 in [{9 4}]
			out 4 {"k":null,"v":2,"n":6} for 6 in [{9 6}]
			out 5 {"k":"x","v":"text","n":7} for 7 in [{9 7}]
			loss [{9 5}] branch 1 batch_consumed
			loss [{9 2}] branch 1 batch_consumed`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, sortNode(test.spec))
			b.accept(0, rows)
			require.Equal(t, lines(test.want), b.end(1))
		})
	}
}

// A batch of which the top rows are wanted gives those that sorting everything gives. It keeps few rows, unless a coalesce
// has to be told of the others.
func TestTopOfMany(t *testing.T) {
	by := []plan.Order{{Field: "v"}}
	alone := sortNode(plan.Batch{By: by, Top: 3})
	alone.Context = nil
	few, told, all := newBench(t, alone), newBench(t, sortNode(plan.Batch{By: by, Top: 3})), newBench(t, sortNode(plan.Batch{By: by}))
	for chunk := range 20 {
		var rows strings.Builder
		for i := range 100 {
			fmt.Fprintf(&rows, "{\"v\":%d}\n", (chunk*100+i)*7919%501)
		}
		for _, b := range []*bench{few, told, all} {
			b.accept(0, rows.String())
		}
		require.Less(t, len(few.machine.rule.(*batcher).first().members), 2*3+slack)
	}
	require.Positive(t, few.machine.rule.(*batcher).kept)
	require.Equal(t, few.machine.rule.(*batcher).first().size(), few.machine.rule.(*batcher).kept)
	var settled []*Settlement
	for _, b := range []*bench{few, told, all} {
		s, err := b.machine.End(at(1))
		require.NoError(t, err)
		require.Equal(t, int64(2000), s.Batches[0].Rows)
		settled = append(settled, s)
	}
	require.Len(t, settled[0].Outs, 3)
	require.Empty(t, settled[0].Losses)
	require.Equal(t, settled[2].Outs[:3], settled[1].Outs)
	for i, out := range settled[1].Outs {
		require.Equal(t, out.Row.Values, settled[0].Outs[i].Row.Values)
		require.Equal(t, out.Parent, settled[0].Outs[i].Parent)
	}
	for i, out := range settled[2].Outs[1:] {
		before := settled[2].Outs[i]
		require.True(t, before.Row.Values[0].Int() < out.Row.Values[0].Int() || before.Row.Values[0] == out.Row.Values[0] && before.Parent.Row < out.Parent.Row, "sorting is stable")
	}
	for i, out := range settled[2].Outs[3:] {
		require.Equal(t, out.Keys, settled[1].Losses[i].Keys)
	}
}

// The last row of a key stays; the rows come out in their own order, not that of their keys.
func TestKeepLast(t *testing.T) {
	b := newBench(t, lastNode("k"))
	require.Equal(t, "members [1 2 1 3]\n", b.accept(0, `
		{"k":"a","v":1}
		{"k":"b","v":2}
		{"k":"a","v":3}
		{"k":null,"v":4}`))
	require.Equal(t, "members [2 1 2]\n", b.accept(1, `
		{"k":"b","v":5}
		{"k":"a","v":6}
		{"k":"b","v":7}`))
	require.Equal(t, lines(`
		batch 1 end batch_consumed rows 3, 0s to 2s
		batch 2 end batch_consumed rows 3, 0s to 2s
		batch 3 end batch_consumed rows 1, 0s to 2s
		out 3 {"k":null,"v":4} for 4 in [{9 4}]
		out 1 {"k":"a","v":6} for 6 in [{9 6}]
		out 2 {"k":"b","v":7} for 7 in [{9 7}]
		loss [{9 1}] branch 1 batch_consumed
		loss [{9 3}] branch 1 batch_consumed
		loss [{9 2}] branch 1 batch_consumed
		loss [{9 5}] branch 1 batch_consumed`), b.end(2))
}

// Numbers that are equal make one group, which has the form of the first. Other values that look alike make groups of their own.
func TestGroupsGoByValue(t *testing.T) {
	b := newBench(t, aggregateNode(t, plan.Batch{GroupBy: []string{"x", "y"}}, "n", "count()"))
	require.Equal(t, "members [1 1 2 3 4 5 6 6]\n", b.accept(0, `
		{"x":1.0,"y":null}
		{"x":1,"y":null}
		{"x":"1","y":null}
		{"x":null,"y":1}
		{"x":"","y":"1"}
		{"x":"1","y":""}
		{"x":[1],"y":true}
		{"x":[1.00],"y":true}`))
	require.Contains(t, b.end(1), `out 1 {"x":1.0,"y":null,"n":2}`)
}

const crowd = `
	{"k":"a","v":1}
	{"k":"b","v":2}
	{"k":"c","v":3}
	{"k":"a","v":4}
	{"k":"d","v":5}
	{"k":"c","v":6}`

// A barrier that holds as many groups as it may rejects rows of others, and continues with those that are open. The rows that a fold rejects
// are one batch and come out last, each for its own token.
func TestTooManyGroups(t *testing.T) {
	totals := aggregateNode(t, plan.Batch{GroupBy: []string{"k"}, Rows: 2}, "n", "count()")
	kept := sortNode(plan.Batch{GroupBy: []string{"k"}, By: []plan.Order{{Field: "v"}}})
	for name, test := range map[string]struct {
		node plan.Node
		want string
		open int64
	}{
		"totals": {totals, `
			members [1 2 3 1 4 3]
			batch 1 rows batch_consumed rows 2, 0s to 0s
			batch 3 arrival batch_consumed rows 2, 0s to 0s
			out 1 {"k":"a","n":2}
			out 3 {"k":"c"} for 3 refused TOO_MANY_GROUPS: ` + tooManyGroups + `
			out 3 {"k":"c"} for 6 refused TOO_MANY_GROUPS: ` + tooManyGroups, 2},
		"totals of rows that come out": {keeping(totals), `
			members [1 2 3 1 4 3]
			batch 1 rows batch_consumed rows 2, 0s to 0s
			batch 3 arrival batch_consumed rows 2, 0s to 0s
			out 1 {"k":"a","v":1,"n":2} for 1 in [{9 1}]
			out 1 {"k":"a","v":4,"n":2} for 4 in [{9 4}]
			out 3 {"k":"c","v":3} for 3 in [{9 3}] refused TOO_MANY_GROUPS: ` + tooManyGroups + `
			out 3 {"k":"c","v":6} for 6 in [{9 6}] refused TOO_MANY_GROUPS: ` + tooManyGroups, 2},
		"sort": {kept, `
			members [1 2 3 1 3 3]
			batch 3 arrival batch_consumed rows 3, 0s to 0s
			out 3 {"k":"c","v":3} for 3 in [{9 3}] refused TOO_MANY_GROUPS: ` + tooManyGroups + `
			out 3 {"k":"d","v":5} for 5 in [{9 5}] refused TOO_MANY_GROUPS: ` + tooManyGroups + `
			out 3 {"k":"c","v":6} for 6 in [{9 6}] refused TOO_MANY_GROUPS: ` + tooManyGroups, 2},
		"keeping last": {lastNode("k"), `
			members [1 2 3 1 3 3]
			batch 3 arrival batch_consumed rows 3, 0s to 0s
			out 3 {"k":"c","v":3} for 3 in [{9 3}] refused TOO_MANY_GROUPS: ` + tooManyGroups + `
			out 3 {"k":"d","v":5} for 5 in [{9 5}] refused TOO_MANY_GROUPS: ` + tooManyGroups + `
			out 3 {"k":"c","v":6} for 6 in [{9 6}] refused TOO_MANY_GROUPS: ` + tooManyGroups, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.node)
			b.machine.maxGroups = 2
			require.Equal(t, lines(test.want), b.accept(0, crowd))
			batches, _ := b.machine.Held()
			require.Equal(t, test.open, batches)
		})
	}
}

// However many rows a fold turns away, they are one batch of it; those of another fold are another.
func TestRowsTurnedAwayAreOneBatchOfAFold(t *testing.T) {
	b := newBench(t, aggregateNode(t, plan.Batch{GroupBy: []string{"k"}}, "n", "count()"))
	b.machine.maxGroups = 1
	require.Equal(t, "members [1]\n", b.accept(0, `{"k":"first"}`))
	for fold := range 3 {
		settled, err := b.machine.Accept(at(float64(fold)), b.arrivals(strings.Repeat("{\"k\":\"other\"}\n", 1000)))
		require.NoError(t, err)
		require.Len(t, settled.Batches, 1)
		require.Equal(t, int64(1000), settled.Batches[0].Rows)
		require.Len(t, settled.Outs, 1000)
		for i, out := range settled.Outs {
			require.Equal(t, Out{Batch: uint32(fold) + 2, Parent: &Token{Row: int64(1000*fold+i) + 2}, Row: out.Row, Rejected: refusedGroup}, out)
		}
	}
}

// When rows take more memory than they may, the batch with the most goes first, the older of equals.
func TestMemory(t *testing.T) {
	b := newBench(t, sortNode(plan.Batch{GroupBy: []string{"k"}, By: []plan.Order{{Field: "v"}}, Rows: 1000}))
	size := memberBytes + 16 + 2*cellBytes + 1
	b.machine.memoryBudget = 4 * size
	require.Equal(t, lines(`
		members [1 2 2 1 3 4]
		batch 1 memory batch_consumed rows 2, 0s to 0s
		out 1 {"k":"a","v":1} for 1 in [{9 1}]
		out 1 {"k":"a","v":4} for 4 in [{9 4}]`), b.accept(0, `
		{"k":"a","v":1}
		{"k":"b","v":2}
		{"k":"b","v":3}
		{"k":"a","v":4}
		{"k":"c","v":5}
		{"k":"d","v":6}`))
	require.Equal(t, 4*size, b.machine.rule.(*batcher).kept)
	b.end(1)
	require.Zero(t, b.machine.rule.(*batcher).kept)
	require.Empty(t, b.machine.rule.(*batcher).large)
}

// What only the end may fire is never cut short: it would pass for the whole.
func TestFull(t *testing.T) {
	const rows = `{"k":"a","v":1,"x":"a text of some length, longer than what may be held"}` + "\n" + `{"k":"a","v":2,"x":"another one"}`
	for name, node := range map[string]plan.Node{
		"totals":       aggregateNode(t, plan.Batch{}, "x", "collect(row.v)"),
		"sort":         sortNode(plan.Batch{By: []plan.Order{{Field: "v"}}}),
		"keeping last": lastNode("v"),
	} {
		b := newBench(t, node)
		b.machine.memoryBudget = 10
		_, err := b.machine.Accept(at(0), b.arrivals(rows))
		requireFull(t, err, name)
	}
	b := newBench(t, coalesceNode(plan.Coalescing{}))
	b.machine.memoryBudget = 10
	_, err := b.machine.Accept(at(0), b.told("a 1"))
	requireFull(t, err, "coalesce")
}

func requireFull(t *testing.T, err error, what string) {
	t.Helper()
	var full *FullError
	require.ErrorAs(t, err, &full, what)
	require.NotEmpty(t, full.Cure, what)
}

// What is added to totals takes no memory, unless the function keeps values.
func TestMemoryOfFunctions(t *testing.T) {
	for function, grows := range map[string]bool{
		"sum(row.v)": false, "max(row.k)": false, "last(row.k)": false, "collect(row.v)": true, "quantile(row.v, 0.5)": true, "count_distinct(row.v)": true,
	} {
		b := newBench(t, aggregateNode(t, plan.Batch{}, "x", function))
		b.accept(0, "{\"k\":\"a\",\"v\":1}\n{\"k\":\"b\",\"v\":2}")
		require.Equal(t, grows, b.machine.rule.(*batcher).kept > 0, function)
	}
}
