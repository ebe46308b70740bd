package barrier

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// A row that does not come out is a loss to the coalesce that waits for it, and to no other.
func TestLossesGoToWhoWaits(t *testing.T) {
	tests := map[string]struct {
		context []plan.Branch
		want    string
	}{
		"no open fork":          {nil, ""},
		"a fork never joined":   {[]plan.Branch{{Fork: testFork, Name: "a", Coalesce: plan.None}}, ""},
		"a branch not expected": {[]plan.Branch{{Fork: testFork, Name: "z", Coalesce: testCoalesce}}, ""},
		"the innermost counts":  {[]plan.Branch{{Fork: testFork, Name: "z", Coalesce: plan.None}, {Fork: testFork, Name: "b", Coalesce: testCoalesce}}, "loss [{9 1}] branch 0 batch_consumed\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			node := lastNode("k")
			node.Context = test.context
			b := newBench(t, node)
			in := b.arrivals("{\"k\":1}\n{\"k\":1}")
			in.List[0].Keys, in.List[1].Keys = []Token{{Lane: 9, Row: 1}}, []Token{{Lane: 9, Row: 2}}
			s, err := b.machine.Accept(at(0), in)
			require.NoError(t, err)
			require.Empty(t, s.Losses, "the token is not at its end yet")
			s, err = b.machine.End(at(0))
			require.NoError(t, err)
			require.Equal(t, test.want, tellOf(&Settlement{Losses: s.Losses}))
		})
	}
}

// Batches have numbers of 32 bits, and none is given twice.
func TestNumbersRunOut(t *testing.T) {
	b := newBench(t, lastNode("k"))
	b.machine.number = math.MaxUint32 - 2
	require.Equal(t, "members [4294967294 4294967295]\n", b.accept(0, "{\"k\":1}\n{\"k\":2}"))
	_, err := b.machine.Accept(at(0), b.arrivals(`{"k":3}`))
	require.EqualError(t, err, "the barrier has opened 4294967295 batches, and cannot number 1 more; let it gather more rows in one")
}

// Rows of ever new shapes are worked out anew, and nothing remembers all of them.
func TestManyShapes(t *testing.T) {
	const shapes = maxShapes + 50
	passing := newBench(t, keeping(aggregateNode(t, plan.Batch{}, "n", "count()")))
	expanding := newBench(t, expandNode(pipeline.Expand{Field: "x", As: "y"}))
	var rows strings.Builder
	for i := range shapes {
		fmt.Fprintf(&rows, "{\"f%d\":1,\"x\":[2],\"k\":\"a\"}\n", i)
	}
	passing.accept(0, rows.String())
	got := passing.end(1)
	require.Equal(t, shapes, strings.Count(got, `"k":"a","n":1074}`))
	require.LessOrEqual(t, len(passing.machine.rule.(*batcher).operation.(*aggregator).layouts), maxShapes)

	got = expanding.accept(0, rows.String())
	require.Equal(t, shapes, strings.Count(got, `"x":[2],"k":"a","y":2}`))
	require.LessOrEqual(t, len(expanding.machine.rule.(*expander).layouts), maxShapes)
	require.LessOrEqual(t, len(expanding.machine.rule.(*expander).field.known), maxShapes)

	coalescer := NewCoalescer(&plan.Coalescing{Branches: []string{"a", "b"}})
	for i := range maxLayouts + 50 {
		coalescer.Reset()
		own := row.Row{Shape: row.NewShape([]string{fmt.Sprintf("f%d", i)}), Values: []row.Value{row.IntValue(int64(i))}}
		coalescer.Arrive(0, branchRow(0, true))
		coalescer.Arrive(1, own)
		require.Equal(t, fmt.Sprintf(`{"id":7,"seen":7,"f%d":%[1]d}`, i), string(row.AppendJSON(nil, coalescer.Decision().Row)))
		require.LessOrEqual(t, len(coalescer.merger.layouts), maxLayouts)
		require.LessOrEqual(t, len(coalescer.merger.shapes), maxLayouts+2)
	}
}
