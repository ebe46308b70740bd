package engine

import (
	"waymark/engine/barrier"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// layoutLookup lays the table's fields over those of the row, as set does.
func layoutLookup(t *transform, shape *row.Shape) layout {
	for _, field := range t.node.Table.On {
		if _, found := shape.Index(field); !found {
			return layout{refused: barrier.NoSuchField(field)}
		}
	}
	names, from := sameFields(shape)
	var set []int
	for _, field := range t.node.Table.Fields {
		var position int
		position, names, from = positionOf(shape, field.Name, names, from)
		set = append(set, position)
	}
	return layout{out: row.NewShape(names), from: from, set: set}
}

// fillLookup fills in the fields of the table's row with the key, or nulls.
func fillLookup(t *transform, in row.Row, values []row.Value) *plugin.Rejection {
	t.key = t.key[:0]
	for _, field := range t.node.Table.On {
		value, _ := in.Get(field)
		t.key = append(t.key, value)
	}
	var found []row.Value
	var ok bool
	found, ok, t.text = t.node.Table.Find(t.key, t.text)
	if !ok && t.node.Spec.Lookup.Missing == "refuse" {
		message := "the table has no row for " + quote(t.key[0])
		return &plugin.Rejection{Code: CodeLookupMissing, Field: t.node.Table.On[0], Message: message}
	}
	for k, position := range t.current.set {
		values[position] = row.NullValue()
		if ok {
			values[position] = found[k]
		}
	}
	return nil
}
