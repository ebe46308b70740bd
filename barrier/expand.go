package barrier

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"waymark/pipeline"
	"waymark/plan"
	"waymark/plugin"
	"waymark/row"
)

// CodeNotAList is the code of a row in which the field to expand holds no list. Stored; never rename.
const CodeNotAList = "NOT_A_LIST"

// expandIntake looks whether a row has a list to expand, and keeps the whole row.
type expandIntake struct {
	arena
	spec  *pipeline.Expand
	field *locator
}

func newExpandIntake(node *plan.Node) *expandIntake {
	return &expandIntake{spec: node.Spec.Expand, field: newLocator([]string{node.Spec.Expand.Field})}
}

// Take implements Intake.
func (t *expandIntake) Take(in row.Row) (kept row.Row, empty bool, refused *plugin.Rejection) {
	list := valueAt(in, t.field.positions(in.Shape)[0])
	switch {
	case isEmptyList(list, t.spec.Split):
		return kept, true, nil
	case !isList(list, t.spec.Split):
		return kept, false, &plugin.Rejection{Code: CodeNotAList, Field: t.spec.Field, Message: notAList(list, t.spec.Split)}
	}
	values := append(t.room(len(in.Values)), in.Values...)
	t.keep(values)
	return row.Row{Shape: in.Shape, Values: values}, false, nil
}

// isEmptyList reports whether there is nothing to expand: null, an empty list or an empty text.
func isEmptyList(list row.Value, split string) bool {
	switch list.Kind() {
	case row.Null:
		return true
	case row.JSON:
		return split == "" && (list.Text() == "[]" || list.Text() == "null")
	}
	return split != "" && list.Kind() == row.String && list.Text() == ""
}

func isList(list row.Value, split string) bool {
	if split != "" {
		return list.Kind() == row.String
	}
	return list.Kind() == row.JSON && list.Text()[0] == '['
}

func notAList(value row.Value, split string) string {
	if split != "" {
		return "a string is split, and this is a " + value.Kind().String()
	}
	if value.Kind() == row.JSON {
		return "this is JSON, but no list"
	}
	return "a JSON list is expanded, and this is a " + value.Kind().String()
}

// elements returns the elements of a list that isList accepts. Those of a JSON list are of kind json, or null.
func elements(list row.Value, split string) []row.Value {
	var values []row.Value
	if split != "" {
		for text := range strings.SplitSeq(list.Text(), split) {
			values = append(values, row.StringValue(text))
		}
		return values
	}
	for text := list.Text()[1:]; text != ""; {
		end := elementEnd(text)
		values = append(values, jsonElement(text[:end]))
		text = text[end+1:]
	}
	return values
}

func jsonElement(text string) row.Value {
	if text == "null" {
		return row.NullValue()
	}
	value, err := row.ParseJSON(text)
	if err != nil {
		panic("barrier: a JSON value holds what is no JSON: " + err.Error()) // against the contract of row.Value
	}
	return value
}

// elementEnd returns the length of the first element in text, which is the rest of a JSON list in normal form.
func elementEnd(text string) int {
	depth := 0
	for i := 0; ; i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
}

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
