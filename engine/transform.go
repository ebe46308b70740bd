package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// transform makes a new row of each row. What it does to the fields is worked out once for each shape that arrives.
type transform struct {
	node     *plan.Node
	layout   func(*transform, *row.Shape) layout
	fill     func(*transform, row.Row, []row.Value) *plugin.Rejection // nil: copying is all there is to do
	prepared map[*row.Shape]*layout
	last     *row.Shape
	current  *layout
	values   []row.Value
	key      []row.Value // of a lookup
	text     []byte
}

// layout says how rows of one shape are rearranged.
type layout struct {
	out     *row.Shape
	from    []int // for each field of out: its position in the incoming row, or plan.None for a field that fill sets
	set     []int // for each entry of set, cast or lookup: the position in out that fill writes
	change  row.Change
	adds    bool // out has the incoming fields, and then those that fill sets
	refused *plugin.Rejection
}

// maxShapes bounds the layouts that are remembered: a source of rows of ever new shapes must not fill the memory.
const maxShapes = 1024

func newTransform(node *plan.Node) (*transform, error) {
	t := &transform{node: node, prepared: map[*row.Shape]*layout{}}
	switch node.Operation {
	case plan.Set:
		t.layout, t.fill = layoutSet, fillSet
	case plan.Cast:
		t.layout, t.fill = layoutCast, fillCast
	case plan.Rename:
		t.layout = layoutRename
	case plan.Select:
		t.layout = layoutSelect
	case plan.Drop:
		t.layout = layoutDrop
	case plan.Lookup:
		t.layout, t.fill = layoutLookup, fillLookup
	default:
		return nil, fmt.Errorf("the engine has no operation %q", node.Operation)
	}
	return t, nil
}

func (t *transform) apply(in row.Row) (row.Row, int, *plugin.Rejection) {
	if in.Shape != t.last {
		t.current, t.last = t.prepare(in.Shape), in.Shape
	}
	if t.current.refused != nil {
		return in, noLabel, t.current.refused
	}
	values := t.arrange(in.Values)
	if t.fill != nil {
		if rejected := t.fill(t, in, values); rejected != nil {
			return in, noLabel, rejected
		}
	}
	return row.Row{Shape: t.current.out, Values: values}, noLabel, nil
}

// arrange returns the values of a row in their places. What is added to a row is written after its values, if there is
// room: the row itself stays as it is, and who keeps one beyond the next step has a copy. So a hundred steps that each
// add a field do not copy the row a hundred times.
func (t *transform) arrange(in []row.Value) []row.Value {
	from := t.current.from
	if t.current.adds && len(from) <= cap(in) {
		return in[:len(from)]
	}
	t.values = slices.Grow(t.values[:0], 2*len(from))
	for _, from := range from {
		if from == plan.None {
			t.values = append(t.values, row.Value{})
		} else {
			t.values = append(t.values, in[from])
		}
	}
	return t.values
}

func (t *transform) prepare(shape *row.Shape) *layout {
	if known, found := t.prepared[shape]; found {
		return known
	}
	if len(t.prepared) >= maxShapes {
		clear(t.prepared)
	}
	made := t.layout(t, shape)
	if made.refused == nil {
		made.compare(shape)
	}
	t.prepared[shape] = &made
	return &made
}

// compare notes what rows that are laid out so have in common with the incoming ones, which have the shape.
func (l *layout) compare(shape *row.Shape) {
	kept, filled := slices.Clone(l.from), len(l.out.Fields())-shape.Len()
	for _, position := range l.set {
		kept[position] = plan.None
	}
	l.change = row.ChangeOf(shape, l.out, kept)
	l.adds = filled > 0
	for i := range shape.Len() {
		l.adds = l.adds && i < len(kept) && kept[i] == i
	}
}

// sameFields lays rows out as they are.
func sameFields(shape *row.Shape) (names []string, from []int) {
	from = make([]int, shape.Len())
	for i := range from {
		from[i] = i
	}
	return slices.Clone(shape.Fields()), from
}

func layoutSet(t *transform, shape *row.Shape) layout {
	names, from := sameFields(shape)
	var set []int
	for _, entry := range t.node.Spec.Set {
		var position int
		position, names, from = positionOf(shape, entry.Name, names, from)
		set = append(set, position)
	}
	return layout{out: row.NewShape(names), from: from, set: set}
}

// positionOf returns the position of a field that is filled in: the one it has in the incoming rows, or a new one after
// the others.
func positionOf(
	shape *row.Shape, name string, names []string, from []int,
) (position int, longer []string, sources []int) {
	if position, found := shape.Index(name); found {
		return position, names, from
	}
	return len(names), append(names, name), append(from, plan.None)
}

// fillSet evaluates every expression against the row as it came in.
func fillSet(t *transform, in row.Row, values []row.Value) *plugin.Rejection {
	for k, position := range t.current.set {
		value, err := t.node.Exprs[k].Eval(in)
		if err != nil {
			return barrier.EvalRejection(err, t.node.Spec.Set[k].Name)
		}
		values[position] = value
	}
	return nil
}

func layoutCast(t *transform, shape *row.Shape) layout {
	names, from := sameFields(shape)
	var set []int
	for _, entry := range t.node.Spec.Cast {
		position, found := shape.Index(entry.Name)
		if !found {
			return layout{refused: barrier.NoSuchField(entry.Name)}
		}
		set = append(set, position)
	}
	return layout{out: row.NewShape(names), from: from, set: set}
}

func fillCast(t *transform, _ row.Row, values []row.Value) *plugin.Rejection {
	for k, position := range t.current.set {
		entry := t.node.Spec.Cast[k]
		value, err := row.Cast(values[position], pipeline.Field{Type: entry.Value}.Kind())
		if err != nil {
			return convertRejection(err, entry.Name)
		}
		values[position] = value
	}
	return nil
}

func layoutRename(t *transform, shape *row.Shape) layout {
	names, from := sameFields(shape)
	for _, entry := range t.node.Spec.Rename {
		position, found := shape.Index(entry.Name)
		if !found {
			return layout{refused: barrier.NoSuchField(entry.Name)}
		}
		names[position] = entry.Value
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			const message = "the row would have two fields of this name"
			return layout{refused: &plugin.Rejection{Code: CodeFieldExists, Field: name, Message: message}}
		}
	}
	return layout{out: row.NewShape(names), from: from}
}

func layoutSelect(t *transform, shape *row.Shape) layout {
	var from []int
	for _, name := range t.node.Spec.Select {
		position, found := shape.Index(name)
		if !found {
			return layout{refused: barrier.NoSuchField(name)}
		}
		from = append(from, position)
	}
	return layout{out: row.NewShape(t.node.Spec.Select), from: from}
}

// layoutDrop drops the fields that are there; a field that an open row does not have is as good as dropped.
func layoutDrop(t *transform, shape *row.Shape) layout {
	var names []string
	var from []int
	for i, name := range shape.Fields() {
		if !slices.Contains(t.node.Spec.Drop, name) {
			names, from = append(names, name), append(from, i)
		}
	}
	return layout{out: row.NewShape(names), from: from}
}

func convertRejection(err error, field string) *plugin.Rejection {
	var failed *row.ConvertError
	if errors.As(err, &failed) {
		return &plugin.Rejection{Code: failed.Code, Field: field, Message: failed.Error()}
	}
	return &plugin.Rejection{Code: expr.CodeEval, Field: field, Message: plugin.Brief(err.Error())}
}

func quote(value row.Value) string {
	text := row.AppendText(nil, value)
	return strconv.QuoteToASCII(string(text[:min(len(text), 64)]))
}
