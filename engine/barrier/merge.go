package barrier

import (
	"errors"
	"slices"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// merger makes one row of the rows of branches. What goes where is worked out once for each combination of branches and
// shapes that arrives.
type merger struct {
	spec    *plan.Coalescing
	layouts map[string]*mergeLayout // by the branches that came, and their shapes
	shapes  map[*row.Shape]uint64   // numbers for keys of layouts
	came    []int                   // the branches that came, in declared order
	key     []byte
	text    []byte
}

func newMerger(spec *plan.Coalescing) *merger {
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
			d.Rejected = &plugin.Rejection{Code: CodeCollision, Field: d.Collisions[0], Message: "branches have different values in this field"}
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
			if rows[other.branch].Values[other.position].Key() != value.Key() {
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
			d.Rejected = conversionRejection(err, m.spec.Branches[b])
			return
		}
		values = append(values, value)
	}
	d.Row, d.Origins = row.Row{Shape: layout.shape, Values: values}, layout.origins
}

// object returns the row as a JSON object, unless that is nested too deep.
func (m *merger) object(in row.Row) (row.Value, error) {
	m.text = row.AppendJSONObject(m.text[:0], in)
	return row.ParseJSON(string(m.text))
}

// selectBranch makes the row of one branch the merged row.
func (m *merger) selectBranch(d *Decision, rows []row.Row) {
	wanted := slices.Index(m.spec.Branches, m.spec.Merge.Select)
	if !slices.Contains(d.Arrived, wanted) {
		m.union(d, rows)
		d.Rejected = &plugin.Rejection{Code: CodeSelectBranchMissing, Message: "the row wanted is that of " + m.spec.Merge.Select + ", which did not come"}
		return
	}
	layout := m.layout(pipeline.SelectBranch, d, rows)
	d.Row, d.Origins = row.Row{Shape: layout.shape, Values: append(d.Row.Values[:0], rows[wanted].Values...)}, layout.origins
}

// conversionRejection says why a value of the branch is nothing that JSON can hold.
func conversionRejection(err error, field string) *plugin.Rejection {
	failed, _ := errors.AsType[*row.JSONError](err) // ParseJSON has no others
	return &plugin.Rejection{Code: failed.Code, Field: field, Message: plugin.Brief(err.Error())}
}
