package barrier

import (
	"encoding/binary"
	"slices"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// mergeLayout says how the rows of some branches make a row.
type mergeLayout struct {
	shape   *row.Shape
	origins []Origin
	cells   []mergeCell // of a union: for each field of shape
}

// mergeCell is where a field's value comes from, and where others have it too.
type mergeCell struct {
	from   slot
	others []slot
}

type slot struct{ branch, position int }

// maxLayouts bounds what is remembered: rows of ever new shapes must not fill the memory.
const maxLayouts = 1024

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
	var places [][]slot
	known := map[string]int{}
	for _, b := range m.came {
		for position, name := range rows[b].Shape.Fields() {
			i, found := known[name]
			if !found {
				i = len(names)
				known[name] = i
				names, places = append(names, name), append(places, nil)
			}
			places[i] = append(places[i], slot{b, position})
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
func (m *merger) cell(having []slot) mergeCell {
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
