package barrier

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
	"waymark/tests/sample"
)

// worlds are barriers of every kind, with all that they can hold.
func worlds(t testing.TB) map[string]plan.Node {
	all := []string{
		"n", "count()", "si", "sum(row.v)", "sf", "sum(row.f)", "sd", "sum(row.d)", "mi", "mean(row.v)", "mf", "mean(row.f)", "md", "mean(row.d)",
		"lo", "min(row.k)", "hi", "max(row.d)", "mix", "max(row.x)", "sx", "sum(row.x)", "fi", "first(row.k)", "la", "last(row.x)",
		"c", "collect(row.x)", "cd", "count_distinct(row.x)", "q", "quantile(row.f, 0.3)", "qk", "quantile(row.k, 0.5)",
	}
	env, err := expr.NewBatchEnv([]expr.Field{{Name: "n", Kind: row.Int}, {Name: "rows", Kind: row.Int}}, false, nil)
	require.NoError(t, err)
	when, err := env.Compile("batch.n > 6 && batch.rows > 6", expr.Bool)
	require.NoError(t, err)
	by := []plan.Order{{Field: "x"}, {Field: "v", Descending: true}}
	alone := sortNode(plan.Batch{By: by, Top: 1})
	alone.Context = nil
	return map[string]plan.Node{
		"making":        aggregateNode(t, plan.Batch{GroupBy: []string{"k", "x"}, Rows: 9, After: 7 * time.Second}, all...),
		"making, large": aggregateNode(t, plan.Batch{ExpectRows: 20}, all...),
		"passing":       keeping(aggregateNode(t, plan.Batch{GroupBy: []string{"k"}, When: when}, "n", "count()", "v", "last(row.v)")),
		"sorting":       sortNode(plan.Batch{GroupBy: []string{"k"}, By: by, After: 5 * time.Second}),
		"topping":       sortNode(plan.Batch{By: by, Top: 2}),
		"pruning":       alone,
		"keeping last":  lastNode("k", "v"),
		"expanding":     expandNode(pipeline.Expand{Field: "j", Index: "nr"}),
		"require_all":   coalesceNode(plan.Coalescing{Timeout: 4 * time.Second}),
		"quorum":        coalesceNode(plan.Coalescing{Policy: pipeline.Policy{Word: pipeline.Quorum, Quorum: 2}, Merge: pipeline.Merge{Word: pipeline.Nested}}),
		"best_effort":   coalesceNode(plan.Coalescing{Policy: pipeline.Policy{Word: pipeline.BestEffort}, Timeout: 9 * time.Second, Collision: plan.CollisionFail}),
		"first":         coalesceNode(plan.Coalescing{Policy: pipeline.Policy{Word: pipeline.First}}),
	}
}

// feed makes arrivals whose texts and slices can be overwritten after a fold, as memory is that others use again.
type feed struct {
	text    []byte
	lists   [][]row.Value
	keys    [][]Token
	shapes  []*row.Shape
	row     int64
	pending map[int64][]int // fork parent → branches that are still to come
}

func newFeed() *feed {
	names := []string{"k", "v", "f", "d", "x", "j"}
	return &feed{shapes: []*row.Shape{row.NewShape(names), row.NewShape([]string{"j", "x", "d", "f", "v", "k", "more"})}, pending: map[int64][]int{}}
}

// shared returns a copy of text in the memory that spoil overwrites.
func (f *feed) shared(text string) string {
	start := len(f.text)
	if start+len(text) > cap(f.text) {
		f.text, start = make([]byte, 0, 1<<16), 0
	}
	f.text = append(f.text, text...)
	return unsafe.String(unsafe.SliceData(f.text[start:]), len(text))
}

func (f *feed) spoil() {
	for i := range f.text {
		f.text[i] = '#'
	}
	f.text = f.text[:0]
	for _, list := range f.lists {
		for i := range list {
			list[i] = row.StringValue("spoilt")
		}
	}
	for _, keys := range f.keys {
		clear(keys)
	}
	f.lists, f.keys = nil, nil
}

// open returns the keys of a token.
func (f *feed) open(keys ...Token) []Token {
	f.keys = append(f.keys, keys)
	return keys
}

func (f *feed) value(t *rapid.T, field string) row.Value {
	pick := rapid.IntRange(0, 7).Draw(t, field)
	if pick == 0 && field != "j" {
		return row.NullValue()
	}
	switch field {
	case "k", "more":
		return row.StringValue(f.shared([]string{"", "a", "bb", "a text that is a little longer"}[pick%4]))
	case "v":
		return row.IntValue([]int64{1, -3, 9_000_000_000_000_000_000, 4}[pick%4])
	case "f":
		return row.FloatValue([]float64{0.1, 1e17, -1e17, 2.5, 1e308}[pick%5])
	case "d":
		return mustParse(row.Decimal, f.shared([]string{"1", "2.50", "-0.001"}[pick%3]))
	case "j":
		return mustParse(row.JSON, []string{`[1,"a"]`, `[{"$a":9223372036854775808}]`, `[null]`}[pick%3])
	}
	return []row.Value{
		row.IntValue(1), row.IntValue(2), row.FloatValue(1), mustParse(row.Decimal, f.shared("1.0")), row.StringValue(f.shared("x")), row.BoolValue(true),
		row.DateValue(-5), row.TimestampValue(-9, 5),
	}[pick]
}

func (f *feed) take(t *rapid.T, intake Intake, a Arrival) (Arrival, bool) {
	in := row.Row{Shape: f.shapes[rapid.IntRange(0, 1).Draw(t, "shape")]}
	for _, field := range in.Shape.Fields() {
		in.Values = append(in.Values, f.value(t, field))
	}
	kept, _, rejected := intake.Take(in)
	f.lists = append(f.lists, kept.Values)
	a.Row = kept
	return a, rejected == nil
}

func (f *feed) arrivals(t *rapid.T, intake Intake, node *plan.Node) *Arrivals {
	in := &Arrivals{}
	for range rapid.IntRange(0, 30).Draw(t, "rows") {
		f.row++
		a := Arrival{Token: Token{Lane: 1, Row: f.row}}
		if node.Operation == plan.Coalesce {
			f.meet(t, intake, a, in)
			continue
		}
		if node.Keeps {
			a.Keys = f.open(Token{Lane: 9, Row: f.row})
		}
		if a, ok := f.take(t, intake, a); ok {
			in.List = append(in.List, a)
		}
	}
	return in
}

// meet lets one branch of some fork parent arrive or be lost.
func (f *feed) meet(t *rapid.T, intake Intake, a Arrival, in *Arrivals) {
	parent := rapid.Int64Range(1, 40).Draw(t, "parent")
	left, known := f.pending[parent]
	if !known {
		left = []int{0, 1, 2}
	}
	if len(left) == 0 {
		return
	}
	i := rapid.IntRange(0, len(left)-1).Draw(t, "branch")
	a.Branch, a.Keys = left[i], f.open(Token{Lane: 8, Row: 5}, Token{Lane: 9, Row: parent})
	f.pending[parent] = append(append([]int{}, left[:i]...), left[i+1:]...)
	if rapid.IntRange(0, 2).Draw(t, "lost") == 0 {
		in.Losses = append(in.Losses, Loss{Keys: a.Keys, Branch: a.Branch, Reason: pipeline.GateRouted})
	} else if a, ok := f.take(t, intake, a); ok {
		in.List = append(in.List, a)
	}
}

// exactly writes a settlement with all kinds of values.
func exactly(s *Settlement) string {
	text := tellOf(s)
	for _, out := range s.Outs {
		text += string(row.AppendCanonical(nil, out.Row)) + "\n"
	}
	return text
}

// A restored machine has the state of the original and does what the original does, whatever comes; and neither keeps memory
// of a fold that is over.
func TestRestoredMachinesGoOnAlike(t *testing.T) {
	for name, node := range worlds(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				b, f := newBench(nil, node), newFeed()
				b.machine.maxGroups = 15
				if g, gathers := b.machine.rule.(*batcher); gathers && !g.whole {
					b.machine.memoryBudget = 12_000
				}
				twin, now := b.machine, 0.0
				for range rapid.IntRange(1, 12).Draw(t, "folds") {
					now += float64(rapid.IntRange(0, 4).Draw(t, "seconds"))
					if rapid.Bool().Draw(t, "restart") {
						twin = restored(t, b.plan, b.machine)
					}
					in := f.arrivals(t, b.intake, &node)
					fold(t, b.machine, twin, func(m *Machine) (*Settlement, error) {
						if len(in.List)+len(in.Losses) == 0 {
							return m.Tick(at(now))
						}
						return m.Accept(at(now), in)
					})
					state := b.machine.AppendState(nil)
					f.spoil()
					require.Equal(t, state, b.machine.AppendState(nil), "the machine keeps memory of the fold")
				}
				fold(t, b.machine, twin, func(m *Machine) (*Settlement, error) { return m.End(at(now + 1)) })
				batches, rows := b.machine.Held()
				require.Zero(t, batches+rows)
			})
		})
	}
}

func restored(t *rapid.T, p *plan.Plan, m *Machine) *Machine {
	state := m.AppendState(nil)
	twin := New(p, testBarrier)
	twin.memoryBudget, twin.maxGroups = m.memoryBudget, m.maxGroups
	require.NoError(t, twin.Restore(state))
	require.Equal(t, state, twin.AppendState(nil))
	for i := range state {
		state[i] = '#' // nothing of it is kept
	}
	return twin
}

// fold does the same with both machines.
func fold(t *rapid.T, m, twin *Machine, do func(m *Machine) (*Settlement, error)) {
	first, err := do(m)
	require.NoError(t, err)
	said := exactly(first)
	if twin != m {
		second, err := do(twin)
		require.NoError(t, err)
		require.Equal(t, said, exactly(second))
	}
	require.Equal(t, m.Deadline(), twin.Deadline())
	require.Equal(t, m.AppendState(nil), twin.AppendState(nil))
	requireSizes(t, m)
	batches, rows := m.Held()
	twinBatches, twinRows := twin.Held()
	require.Equal(t, []int64{batches, rows}, []int64{twinBatches, twinRows})
}

// requireSizes holds what a machine counts to what it keeps.
func requireSizes(t *rapid.T, m *Machine) {
	kept := 0
	if meeting, meets := m.rule.(*heldCoalesce); meets {
		for _, e := range meeting.entries {
			for _, c := range e.came {
				kept += memberBytes + valueBytes(e.coalescer.rows[c.branch].Values)
			}
		}
		require.Equal(t, kept, meeting.kept)
		return
	}
	g, gathers := m.rule.(*batcher)
	if !gathers {
		return
	}
	for _, b := range g.groups {
		require.Equal(t, b.size(), b.bytes)
		kept += b.bytes
	}
	require.Equal(t, kept, g.kept)
	require.LessOrEqual(t, kept, m.memoryBudget)
	require.LessOrEqual(t, len(g.groups), m.maxGroups)
}

// A damaged state is an error or another state, and never a panic: not when it is read, and not later.
func TestDamagedStates(t *testing.T) {
	for name, node := range worlds(t) {
		t.Run(name, func(t *testing.T) {
			p, state := stateOf(t, node)
			for end := 0; end < len(state); end += sample.Step(3) {
				require.Error(t, New(p, testBarrier).Restore(state[:end]), "cut to %d bytes", end)
			}
			require.ErrorContains(t, New(p, testBarrier).Restore(append(state, 0)), "something follows its end")
			random := rand.New(rand.NewPCG(1, 2))
			for range 4_000 / sample.Step(8) {
				damaged := append([]byte{}, state...)
				for range 1 + random.IntN(3) {
					damaged[random.IntN(len(damaged))] = byte(random.Uint32())
				}
				goOn(p, damaged)
			}
		})
	}
}

// stateOf returns the state of a machine that holds something.
func stateOf(t *testing.T, node plan.Node) (*plan.Plan, []byte) {
	b, f := newBench(t, node), newFeed()
	var state []byte
	rapid.Check(t, func(t *rapid.T) {
		if len(state) > 0 {
			return
		}
		in := f.arrivals(t, b.intake, &node)
		if _, err := b.machine.Accept(at(1), in); err != nil {
			t.Fatal(err)
		}
		if batches, _ := b.machine.Held(); batches > 0 || node.Operation == plan.Expand {
			state = b.machine.AppendState(nil)
		}
	})
	require.NotEmpty(t, state)
	return b.plan, state
}

// goOn restores a machine, and if that works, uses it.
func goOn(p *plan.Plan, state []byte) {
	m := New(p, testBarrier)
	if m.Restore(state) != nil {
		return
	}
	m.Deadline()
	m.AppendState(nil)
	if _, err := m.Tick(at(3)); err != nil {
		panic(err)
	}
	s, err := m.End(at(1e6))
	if err != nil {
		panic(err)
	}
	_ = fmt.Sprint(s.Batches)
	exactly(s)
}

// A value has one form in a state, as everywhere.
func TestStatesHoldNormalForms(t *testing.T) {
	for text, kind := range map[string]row.Kind{"1.50": row.Decimal, "01.5": row.Decimal, `{"a":1}`: row.JSON, `{"a": 1}`: row.JSON, "-0": row.JSON, "a": row.String, "\xff": row.String} {
		r := &reader{data: append([]byte{byte(kind), byte(len(text))}, text...)}
		value := r.value()
		if text == "1.50" || text == `{"a":1}` || text == "a" {
			require.NoError(t, r.err)
			require.Equal(t, text, value.Text())
			continue
		}
		require.Error(t, r.err, text)
	}
}

// The state says whose it is.
func TestStatesOfOthers(t *testing.T) {
	sorting, last := newBench(t, sortNode(plan.Batch{By: []plan.Order{{Field: "v"}}})), newBench(t, lastNode("k"))
	state := sorting.machine.AppendState(nil)
	require.EqualError(t, last.machine.Restore(state), `the state of the barrier cannot be read: it is one of a "sort", not of a deduplicate`)
	state[0] = 9
	require.EqualError(t, New(sorting.plan, testBarrier).Restore(state), "the state of the barrier cannot be read: its version is 9, and this program reads version 1")
}
