package barrier

import (
	"cmp"
	"slices"
	"time"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// expander makes one row for each element of a list. All that arrives in one fold is one batch; nothing is held.
type expander struct {
	*core
	spec    *pipeline.Expand
	field   *locator
	layouts map[*row.Shape]*expandLayout
}

// expandLayout says where element and number go in the rows of one shape.
type expandLayout struct {
	shape          *row.Shape
	element, index int // index is plan.None if the number is not wanted
}

func newExpander(core *core, node *plan.Node) *expander {
	spec := node.Spec.Expand
	return &expander{core: core, spec: spec, field: newLocator([]string{spec.Field}), layouts: map[*row.Shape]*expandLayout{}}
}

func (x *expander) accept(at int64, in *Arrivals, s *Settlement) error {
	if len(in.List) == 0 {
		return nil
	}
	batch := Batch{Number: x.open(), Trigger: FiredByArrival, Path: pipeline.ExpandParent, Rows: int64(len(in.List)), Opened: moment(at), Fired: moment(at)}
	s.Batches = append(s.Batches, batch)
	for i := range in.List {
		s.Members[i] = batch.Number
		x.expand(batch.Number, &in.List[i], s)
	}
	return nil
}

func (x *expander) expand(batch uint32, parent *Arrival, s *Settlement) {
	in := parent.Row
	layout := x.layout(in.Shape)
	for i, element := range elements(valueAt(in, x.field.positions(in.Shape)[0]), x.spec.Split) {
		values := make([]row.Value, layout.shape.Len())
		copy(values, in.Values)
		values[layout.element] = element
		if layout.index != plan.None {
			values[layout.index] = row.IntValue(int64(i) + 1)
		}
		s.Outs = append(s.Outs, Out{Batch: batch, Parent: &parent.Token, Row: row.Row{Shape: layout.shape, Values: values}})
	}
}

func (x *expander) layout(shape *row.Shape) *expandLayout {
	if known, found := x.layouts[shape]; found {
		return known
	}
	if len(x.layouts) >= maxShapes {
		clear(x.layouts)
	}
	names := shape.Fields()
	made := &expandLayout{index: plan.None}
	names, made.element = withField(names, cmp.Or(x.spec.As, x.spec.Field))
	if x.spec.Index != "" {
		names, made.index = withField(names, x.spec.Index)
	}
	made.shape = row.NewShape(names)
	x.layouts[shape] = made
	return made
}

// withField returns the names with the field among them, and its position. names is not changed.
func withField(names []string, field string) ([]string, int) {
	if i := slices.Index(names, field); i >= 0 {
		return names, i
	}
	return append(slices.Clone(names), field), len(names)
}

// Nothing waits in an expand.
func (x *expander) due(int64, *Settlement)      {}
func (x *expander) end(int64, *Settlement)      {}
func (x *expander) deadline() time.Time         { return time.Time{} }
func (x *expander) held() (batches, rows int64) { return 0, 0 }
func (x *expander) save(*writer)                {}
func (x *expander) load(*reader)                {}
