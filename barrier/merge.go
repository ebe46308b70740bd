package barrier

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/plan"
	"waymark/plugin"
	"waymark/row"
)

// merger makes one row of the rows of branches. What goes where is worked out once for each combination of branches and
// shapes that arrives.
type merger struct {
	spec    *plan.Join
	layouts map[string]*mergeLayout // by the branches that came, and their shapes
	shapes  map[*row.Shape]uint64   // numbers for keys of layouts
	came    []int                   // the branches that came, in declared order
	key     []byte
	text    []byte
}

// mergeLayout says how the rows of some branches make a row.
type mergeLayout struct {
	shape   *row.Shape
	origins []Origin
	cells   []mergeCell // of a union: for each field of shape
}

// mergeCell is where a field's value comes from, and where others have it too.
type mergeCell struct {
	from   place
	others []place
}

type place struct{ branch, position int }

// maxLayouts bounds what is remembered: rows of ever new shapes must not fill the memory.
const maxLayouts = 1024

func newMerger(spec *plan.Join) *merger {
	return &merger{spec: spec, layouts: map[string]*mergeLayout{}, shapes: map[*row.Shape]uint64{}}
}

// merge completes the decision with the row that the document asks for.
func (m *merger) merge(d *Decision, rows []row.Row) {
	switch m.spec.Merge.Word {
	case pipeline.Nested:
		m.nest(d, rows)
	case pipeline.SelectBranch:
		m.selectBranch(d, rows)
	default:
		m.union(d, rows)
		if m.spec.Collision == plan.CollisionFail && len(d.Collisions) > 0 {
			d.Refused = &plugin.Rejection{Code: CodeCollision, Field: d.Collisions[0], Message: "branches have different values in this field"}
		}
	}
}

// union gives the merged row the fields of all branches that came, in order of first appearance.
func (m *merger) union(d *Decision, rows []row.Row) {
	layout := m.layout(pipeline.Union, d, rows)
	values := d.Row.Values[:0]
	for i, cell := range layout.cells {
		value := rows[cell.from.branch].Values[cell.from.position]
		values = append(values, value)
		for _, other := range cell.others {
			if rows[other.branch].Values[other.position] != value {
				d.Collisions = append(d.Collisions, layout.shape.Fields()[i])
				break
			}
		}
	}
	d.Row, d.Origins = row.Row{Shape: layout.shape, Values: values}, layout.origins
}

// nest gives the merged row a json field for each branch that came.
func (m *merger) nest(d *Decision, rows []row.Row) {
	layout := m.layout(pipeline.Nested, d, rows)
	values := d.Row.Values[:0]
	for _, b := range m.came {
		value, err := m.object(rows[b])
		if err != nil {
			m.union(d, rows)
			d.Refused = conversionRejection(err, m.spec.Branches[b])
			return
		}
		values = append(values, value)
	}
	d.Row, d.Origins = row.Row{Shape: layout.shape, Values: values}, layout.origins
}

// object returns the row as a JSON object, unless a decimal has more digits than a JSON number keeps.
func (m *merger) object(in row.Row) (row.Value, error) {
	for _, value := range in.Values {
		if value.Kind() == row.Decimal {
			if _, err := row.Cast(value, row.JSON); err != nil {
				return row.Value{}, err
			}
		}
	}
	m.text = row.AppendJSON(m.text[:0], in)
	return row.ParseJSON(string(m.text))
}

// selectBranch makes the row of one branch the merged row.
func (m *merger) selectBranch(d *Decision, rows []row.Row) {
	wanted := slices.Index(m.spec.Branches, m.spec.Merge.Select)
	if !slices.Contains(d.Arrived, wanted) {
		m.union(d, rows)
		d.Refused = &plugin.Rejection{Code: CodeSelectBranchMissing, Message: "the row wanted is that of " + m.spec.Merge.Select + ", which did not come"}
		return
	}
	layout := m.layout(pipeline.SelectBranch, d, rows)
	d.Row, d.Origins = row.Row{Shape: layout.shape, Values: append(d.Row.Values[:0], rows[wanted].Values...)}, layout.origins
}

// layout returns the layout of a merge of the branches that came, and notes these.
func (m *merger) layout(word string, d *Decision, rows []row.Row) *mergeLayout {
	if len(m.shapes) >= maxLayouts || len(m.layouts) >= maxLayouts {
		clear(m.layouts)
		clear(m.shapes)
	}
	m.came = append(m.came[:0], d.Arrived...)
	slices.Sort(m.came)
	m.key = append(m.key[:0], word[0])
	for _, b := range m.came {
		m.key = binary.AppendUvarint(binary.AppendUvarint(m.key, uint64(b)), m.number(rows[b].Shape))
	}
	known, found := m.layouts[string(m.key)]
	if !found {
		known = m.newLayout(word, rows)
		m.layouts[string(m.key)] = known
	}
	return known
}

// number returns the number of a shape, a short name for it in keys of layouts.
func (m *merger) number(shape *row.Shape) uint64 {
	n, found := m.shapes[shape]
	if !found {
		n = uint64(len(m.shapes))
		m.shapes[shape] = n
	}
	return n
}

func (m *merger) newLayout(word string, rows []row.Row) *mergeLayout {
	switch word {
	case pipeline.Nested:
		return m.nestedLayout()
	case pipeline.SelectBranch:
		b := slices.Index(m.spec.Branches, m.spec.Merge.Select)
		return &mergeLayout{shape: rows[b].Shape, origins: originsOf(rows[b].Shape.Fields(), func(int) int { return b })}
	default:
		return m.unionLayout(rows)
	}
}

func (m *merger) nestedLayout() *mergeLayout {
	names := make([]string, len(m.came))
	for i, b := range m.came {
		names[i] = m.spec.Branches[b]
	}
	came := slices.Clone(m.came)
	return &mergeLayout{shape: row.NewShape(names), origins: originsOf(names, func(i int) int { return came[i] })}
}

func (m *merger) unionLayout(rows []row.Row) *mergeLayout {
	var names []string
	var places [][]place
	known := map[string]int{}
	for _, b := range m.came {
		for position, name := range rows[b].Shape.Fields() {
			i, found := known[name]
			if !found {
				i = len(names)
				known[name] = i
				names, places = append(names, name), append(places, nil)
			}
			places[i] = append(places[i], place{b, position})
		}
	}
	layout := &mergeLayout{shape: row.NewShape(names)}
	for _, having := range places {
		layout.cells = append(layout.cells, m.cell(having))
	}
	layout.origins = originsOf(names, func(i int) int { return layout.cells[i].from.branch })
	return layout
}

// cell chooses whose value counts, of branches in declared order.
func (m *merger) cell(having []place) mergeCell {
	if m.spec.Collision == plan.CollisionFirst {
		return mergeCell{from: having[0], others: having[1:]}
	}
	last := len(having) - 1
	return mergeCell{from: having[last], others: having[:last]}
}

func originsOf(names []string, branch func(int) int) []Origin {
	origins := make([]Origin, len(names))
	for i, name := range names {
		origins[i] = Origin{Field: name, Branch: branch(i)}
	}
	return origins
}

// conversionRejection says why a value of the branch is nothing that JSON can hold.
func conversionRejection(err error, field string) *plugin.Rejection {
	code := row.CodeInexact
	if failed, ok := errors.AsType[*row.ConvertError](err); ok {
		code = failed.Code
	} else if failed, ok := errors.AsType[*row.JSONError](err); ok {
		code = failed.Code
	}
	return &plugin.Rejection{Code: cmp.Or(code, row.CodeInexact), Field: field, Message: clip(err.Error())}
}

// clip bounds a message that quotes a row.
func clip(text string) string { return strings.ToValidUTF8(text[:min(len(text), 200)], "") }
