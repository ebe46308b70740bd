package barrier

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// bench holds one barrier and its intake, fed with rows as JSON, and tells what comes of it in lines.
type bench struct {
	t       testing.TB
	plan    *plan.Plan
	intake  Intake
	machine *Machine
	parser  func(text string) row.Row
	next    int64
}

// The nodes of every test plan: a fork, the coalesce over its branches a and b, and the barrier.
const (
	testFork = iota
	testCoalesce
	testBarrier
)

// inBranch is the context of rows that come out in branch a of the fork.
var inBranch = []plan.Branch{{Fork: testFork, Name: "a", Coalesce: testCoalesce}}

func newBench(t testing.TB, node plan.Node) *bench {
	p := &plan.Plan{Nodes: []plan.Node{
		testFork: {Operation: plan.Fork}, testCoalesce: {Operation: plan.Coalesce, Coalescing: &plan.Coalescing{Branches: []string{"b", "a"}}}, testBarrier: node,
	}}
	return &bench{t: t, plan: p, intake: NewIntake(&p.Nodes[testBarrier]), machine: New(p, testBarrier), parser: newJSONRows()}
}

// newJSONRows returns a reader of rows, JSON objects whose fields are of their natural kinds, but that a number with a point
// is a float. Rows with the same fields share a shape.
func newJSONRows() func(text string) row.Row {
	shapes := map[string]*row.Shape{}
	return func(text string) row.Row {
		var names []string
		var values []row.Value
		err := row.ScanObject(text, func(key string, raw row.RawValue) error {
			kind := raw.Kind
			if kind == row.Decimal && strings.Contains(raw.Literal, ".") {
				kind = row.Float
			}
			value, err := raw.As(kind)
			names, values = append(names, key), append(values, value)
			return err
		})
		if err != nil {
			panic(err)
		}
		id := strings.Join(names, "\x00")
		if shapes[id] == nil {
			shapes[id] = row.NewShape(names)
		}
		return row.Row{Shape: shapes[id], Values: values}
	}
}

// arrivals takes rows, one in a line, through the intake. With a context, row n has the fork parent n in lane 9.
func (b *bench) arrivals(rows string) *Arrivals {
	in := &Arrivals{}
	for line := range strings.Lines(strings.TrimSpace(rows)) {
		b.next++
		kept, empty, rejected := b.intake.Take(b.parser(strings.TrimSpace(line)))
		require.Nil(b.t, rejected, line)
		require.False(b.t, empty, line)
		a := Arrival{Token: Token{Lane: 0, Row: b.next}, Row: kept}
		if len(b.plan.Nodes[testBarrier].Context) > 0 {
			a.Keys = []Token{{Lane: 9, Row: b.next}}
		}
		in.List = append(in.List, a)
	}
	return in
}

func at(seconds float64) time.Time {
	return time.UnixMicro(int64(seconds * 1e6)).UTC()
}

func (b *bench) accept(seconds float64, rows string) string {
	s, err := b.machine.Accept(at(seconds), b.arrivals(rows))
	require.NoError(b.t, err)
	return tellOf(s)
}

func (b *bench) tick(seconds float64) string {
	s, err := b.machine.Tick(at(seconds))
	require.NoError(b.t, err)
	return tellOf(s)
}

func (b *bench) end(seconds float64) string {
	s, err := b.machine.End(at(seconds))
	require.NoError(b.t, err)
	return tellOf(s)
}

// tellOf writes a settlement as lines.
func tellOf(s *Settlement) string {
	var t strings.Builder
	if s.Members != nil {
		fmt.Fprintln(&t, strings.TrimSpace(fmt.Sprintln("members", s.Members)))
	}
	for _, batch := range s.Batches {
		fmt.Fprintf(&t, "batch %d %s %s rows %d, %s to %s", batch.Number, batch.Trigger, batch.Path, batch.Rows, clock(batch.Opened), clock(batch.Fired))
		if batch.Of > 0 {
			fmt.Fprintf(&t, ", late for %d", batch.Of)
		}
		if m := batch.Merge; m != nil {
			fmt.Fprintf(&t, ", of %d, wait %s, out %v, lost %v, not needed %v, collisions %v, came", m.Key.Row, m.Wait, m.HasOut, m.Lost, m.NotNeeded, m.Collisions)
			for _, a := range m.Arrived {
				fmt.Fprintf(&t, " %s:%d@%s", a.Branch, a.Token.Row, clock(a.At))
			}
		}
		fmt.Fprintln(&t)
	}
	for _, out := range s.Outs {
		fmt.Fprintf(&t, "out %d %s", out.Batch, row.AppendJSON(nil, out.Row))
		if out.Parent != nil {
			fmt.Fprintf(&t, " for %d", out.Parent.Row)
		}
		if len(out.Keys) > 0 {
			fmt.Fprintf(&t, " in %v", out.Keys)
		}
		if out.Rejected != nil {
			fmt.Fprintf(&t, " refused %s", out.Rejected)
		}
		fmt.Fprintln(&t)
	}
	for _, loss := range s.Losses {
		fmt.Fprintf(&t, "loss %v branch %d %s\n", loss.Keys, loss.Branch, loss.Reason)
	}
	return t.String()
}

func clock(t time.Time) string { return fmt.Sprint(t.Sub(at(0)).Seconds(), "s") }

// lines removes the indentation of an expectation.
func lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// testFields are the fields of the rows of tests; others are undeclared.
var testFields = []expr.Field{{Name: "k", Kind: row.String}, {Name: "v", Kind: row.Int, Optional: true}, {Name: "f", Kind: row.Float, Optional: true}}

func computed(t testing.TB, fields ...string) []plan.Computed {
	env, err := expr.NewEnv(testFields, true, nil)
	require.NoError(t, err)
	var list []plan.Computed
	for i := 0; i < len(fields); i += 2 {
		program, err := env.CompileBatch(fields[i+1], expr.Any)
		require.NoError(t, err)
		list = append(list, plan.Computed{Field: fields[i], Program: program})
	}
	return list
}

func aggregateNode(t testing.TB, spec plan.Batch, fields ...string) plan.Node {
	spec.Compute = computed(t, fields...)
	return plan.Node{Operation: plan.Aggregate, Barrier: true, Batch: &spec}
}

func keeping(node plan.Node) plan.Node {
	node.Keeps, node.Context = true, inBranch
	return node
}

func sortNode(spec plan.Batch) plan.Node {
	return plan.Node{Operation: plan.Sort, Barrier: true, Keeps: true, Context: inBranch, Batch: &spec}
}

func lastNode(key ...string) plan.Node {
	return plan.Node{Operation: plan.Deduplicate, Barrier: true, Keeps: true, Context: inBranch, Batch: &plan.Batch{GroupBy: key}}
}

func expandNode(spec pipeline.Expand) plan.Node {
	return plan.Node{Operation: plan.Expand, Barrier: true, Spec: &pipeline.Step{Expand: &spec}}
}
