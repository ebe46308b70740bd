package barrier

import (
	"fmt"
	"slices"

	"waymark/engine/plan"
	"waymark/internal/text"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// CodeBatchRows is the code of a batch that has not as many rows as it must. Stored; never rename.
const CodeBatchRows = "BATCH_ROWS"

// rowsField is how a trigger's expression names the number of rows.
const rowsField = "rows"

// aggregator works out fields from all rows of a batch. One row of these comes out, or each row with these.
type aggregator struct {
	spec    *plan.Batch
	keeps   bool // the rows of the batch come out
	calls   calls
	grouped *row.Shape // of the one row that comes out, before the computed fields
	layouts map[*row.Shape]*extension

	condition *row.Shape // what the trigger's expression sees; nil without one
	needed    []bool     // for each computed field: the trigger reads it
}

// extension says where the computed fields go in rows of one shape.
type extension struct {
	shape *row.Shape
	at    []int
}

func newAggregator(node *plan.Node) *aggregator {
	g := &aggregator{spec: node.Batch, keeps: node.Keeps, calls: callsOf(node.Batch.Compute), layouts: map[*row.Shape]*extension{}}
	var fields []string
	for _, computed := range g.spec.Compute {
		fields = append(fields, computed.Field)
	}
	g.grouped = row.NewShape(g.spec.GroupBy)
	if g.spec.When != nil {
		for _, field := range fields {
			g.needed = append(g.needed, slices.Contains(g.spec.When.Fields(), field))
		}
		g.condition = row.NewShape(append(fields, rowsField))
	}
	return g
}

func (g *aggregator) fresh(b *batch) {
	b.totals = make([]accumulator, len(g.calls.list))
	for i := range g.calls.list {
		b.totals[i] = newAccumulator(&g.calls.list[i])
	}
}

func (g *aggregator) add(b *batch, a *Arrival) int {
	grown := 0
	if g.keeps {
		grown = b.keep(a)
	}
	next := a.Row.Shape.Len() + len(g.spec.GroupBy)
	for i, total := range b.totals {
		value := row.NullValue()
		if g.calls.list[i].Arg != nil {
			value = a.Row.Values[next]
			next++
		}
		before := total.bytes()
		total.add(value)
		grown += total.bytes() - before
	}
	return grown
}

// ready reports whether the trigger's expression is true. An expression that has no value yet, such as one over the mean of
// nothing but nulls, is not.
func (g *aggregator) ready(b *batch) bool {
	if g.condition == nil {
		return false
	}
	values := make([]row.Value, g.condition.Len())
	for i := range g.spec.Compute {
		if g.needed[i] {
			value, rejected := g.compute(b, i)
			if rejected != nil {
				return false
			}
			values[i] = value
		}
	}
	values[len(values)-1] = row.IntValue(b.rows)
	holds, err := g.spec.When.Eval(row.Row{Shape: g.condition, Values: values})
	return err == nil && holds.Bool()
}

// compute returns the value of one computed field.
func (g *aggregator) compute(b *batch, i int) (row.Value, *plugin.Rejection) {
	field := g.spec.Compute[i].Field
	results := make([]row.Value, len(g.calls.slots[i]))
	for k, slot := range g.calls.slots[i] {
		result, err := b.totals[slot].result()
		if err != nil {
			return row.Value{}, EvalRejection(err, field)
		}
		results[k] = result
	}
	value, err := g.spec.Compute[i].Program.Eval(results)
	if err != nil {
		return row.Value{}, EvalRejection(err, field)
	}
	return value, nil
}

// computeAll returns the values of all computed fields.
func (g *aggregator) computeAll(b *batch) ([]row.Value, *plugin.Rejection) {
	if want := g.spec.ExpectRows; want > 0 && b.rows != int64(want) {
		says := fmt.Sprintf("expected %s in the batch, found %d", text.Count(int64(want), "row"), b.rows)
		return nil, &plugin.Rejection{Code: CodeBatchRows, Message: says}
	}
	values := make([]row.Value, len(g.spec.Compute))
	for i := range values {
		value, rejected := g.compute(b, i)
		if rejected != nil {
			return nil, rejected
		}
		values[i] = value
	}
	return values, nil
}

func (g *aggregator) make(b *batch, s *Settlement) {
	computed, rejected := g.computeAll(b)
	switch {
	case rejected != nil:
		g.reject(b, rejected, s)
	case g.keeps:
		for i := range b.members {
			out := b.members[i].out(b)
			out.Row = g.extend(out.Row, computed)
			s.Outs = append(s.Outs, out)
		}
	default:
		s.Outs = append(s.Outs, Out{Batch: b.number, Row: g.extend(g.known(b), computed)})
	}
}

// known is the row of the fields that make the group.
func (g *aggregator) known(b *batch) row.Row { return row.Row{Shape: g.grouped, Values: b.group} }

// extend returns the row with the computed fields, added to its own or in their place.
func (g *aggregator) extend(in row.Row, computed []row.Value) row.Row {
	layout := g.layout(in.Shape)
	values := make([]row.Value, layout.shape.Len())
	copy(values, in.Values)
	for i, position := range layout.at {
		values[position] = computed[i]
	}
	return row.Row{Shape: layout.shape, Values: values}
}

func (g *aggregator) layout(shape *row.Shape) *extension {
	if known, found := g.layouts[shape]; found {
		return known
	}
	if len(g.layouts) >= maxShapes {
		clear(g.layouts)
	}
	made := &extension{}
	names := shape.Fields()
	for _, computed := range g.spec.Compute {
		extended, position := withField(names, computed.Field)
		names, made.at = extended, append(made.at, position)
	}
	made.shape = row.NewShape(names)
	g.layouts[shape] = made
	return made
}

// reject appends what comes out of a batch that is rejected as a whole.
func (g *aggregator) reject(b *batch, rejected *plugin.Rejection, s *Settlement) {
	if !g.keeps {
		s.Outs = append(s.Outs, Out{Batch: b.number, Row: g.known(b), Rejected: rejected})
		return
	}
	for i := range b.members {
		out := b.members[i].out(b)
		out.Rejected = rejected
		s.Outs = append(s.Outs, out)
	}
}

// away names the token in any case: what is known of the row tells it from no other of its group.
func (g *aggregator) away(a *Arrival) Out {
	if g.keeps {
		return keptAway(a)
	}
	own := a.Row.Shape.Len()
	return Out{Parent: &a.Token, Row: row.Row{Shape: g.grouped, Values: a.Row.Values[own : own+g.grouped.Len()]}}
}

func (g *aggregator) lose(*batch, *Settlement)        {}
func (g *aggregator) order(batches []*batch) []*batch { return batches }

func (g *aggregator) detach(b *batch) {
	b.detachMembers()
	for _, total := range b.totals {
		total.detach()
	}
}

func (g *aggregator) save(b *batch, w *writer) {
	w.members(b.members)
	for _, total := range b.totals {
		total.save(w)
	}
}

func (g *aggregator) load(b *batch, r *reader) {
	b.members = r.members()
	for _, total := range b.totals {
		total.load(r)
	}
}
