package barrier

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// What is kept has memory of its own, behind the row's own values what only the machine reads, and takes no allocation per
// row.
func TestIntake(t *testing.T) {
	making := aggregateNode(t, plan.Batch{GroupBy: []string{"k"}}, "a", "sum(row.v) / count()", "b", "max(row.v + 1)", "c", "mean(row.f) + double(sum(row.v))")
	passing := keeping(making)
	sorting := sortNode(plan.Batch{GroupBy: []string{"k"}, By: []plan.Order{{Field: "v"}}})
	meeting := plan.Node{Operation: plan.Coalesce, Coalescing: &plan.Coalescing{Branches: []string{"a"}}}
	tests := map[string]struct {
		node plan.Node
		want []row.Value
	}{
		"making":  {making, []row.Value{row.StringValue("x"), row.IntValue(4), row.IntValue(5), row.FloatValue(1.5)}},
		"passing": {passing, []row.Value{row.FloatValue(1.5), row.IntValue(4), row.StringValue("x"), row.StringValue("x"), row.IntValue(4), row.IntValue(5), row.FloatValue(1.5)}},
		"sorting": {sorting, []row.Value{row.FloatValue(1.5), row.IntValue(4), row.StringValue("x"), row.StringValue("x")}},
		"meeting": {meeting, []row.Value{row.FloatValue(1.5), row.IntValue(4), row.StringValue("x")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			intake, in := NewIntake(&test.node), newJSONRows()(`{"f":1.5,"v":4,"k":"x"}`)
			first, empty, rejected := intake.Take(in)
			require.Nil(t, rejected)
			require.False(t, empty)
			require.Equal(t, test.want, first.Values)
			if name == "making" {
				require.Zero(t, first.Shape.Len())
			} else {
				require.Same(t, in.Shape, first.Shape)
			}
			clear(in.Values)
			second, _, _ := intake.Take(newJSONRows()(`{"f":2.5,"v":5,"k":"y"}`))
			require.Equal(t, test.want, first.Values)
			require.NotEqual(t, first.Values, second.Values)

			in = newJSONRows()(`{"f":1.5,"v":4,"k":"x"}`)
			require.Less(t, testing.AllocsPerRun(1000, func() { _, _, _ = intake.Take(in) }), 1.0)
		})
	}
}

// A row whose arguments or fields are not there is rejected as it comes, and leaves nothing behind.
func TestIntakeRefuses(t *testing.T) {
	node := aggregateNode(t, plan.Batch{GroupBy: []string{"k"}}, "a", "count()", "b", "sum(row.v / row.w)")
	sorting := sortNode(plan.Batch{By: []plan.Order{{Field: "when"}}})
	tests := []struct {
		node        plan.Node
		in          string
		code, field string
	}{
		{node, `{"v":1,"w":1}`, CodeNoSuchField, "k"},
		{node, `{"k":"a","v":1,"w":0}`, expr.CodeDivisionByZero, "b"},
		{node, `{"k":"a","v":1,"w":"text"}`, expr.CodeNoSuchOverload, "b"},
		{sorting, `{"k":"a"}`, CodeNoSuchField, "when"},
	}
	for _, test := range tests {
		intake := NewIntake(&test.node)
		_, _, rejected := intake.Take(newJSONRows()(test.in))
		require.NotNil(t, rejected, test.in)
		require.Equal(t, []string{test.code, test.field}, []string{rejected.Code, rejected.Field})
	}
	intake := NewIntake(&node)
	kept, _, _ := intake.Take(newJSONRows()(`{"k":"a","v":6,"w":2}`))
	_, _, rejected := intake.Take(newJSONRows()(`{"k":"b","v":1,"w":0}`))
	require.NotNil(t, rejected)
	require.Equal(t, []row.Value{row.StringValue("a"), row.IntValue(3)}, kept.Values)
}
