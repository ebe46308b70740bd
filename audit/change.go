package audit

import (
	"slices"
	"unicode/utf8"

	"waymark/engine/plan"
	"waymark/pipeline/row"
)

// changes lists the fields that differ, in the order of the row that came out, then the fields that are gone. The zero
// row has no fields.
func changes(before, after row.Row) []Change {
	var list []Change
	if after.Shape == nil {
		return nil
	}
	for i, field := range after.Shape.Fields() {
		old, had := get(before, field)
		now := display(after.Values[i])
		switch {
		case !had:
			list = append(list, Change{Field: field, After: &now})
		case old != after.Values[i]:
			was := display(old)
			list = append(list, Change{Field: field, Before: &was, After: &now})
		}
	}
	if before.Shape == nil {
		return list
	}
	for i, field := range before.Shape.Fields() {
		if _, kept := after.Shape.Index(field); !kept {
			was := display(before.Values[i])
			list = append(list, Change{Field: field, Before: &was})
		}
	}
	return list
}

func get(r row.Row, field string) (row.Value, bool) {
	if r.Shape == nil {
		return row.Value{}, false
	}
	return r.Get(field)
}

// display shows a value in its canonical form, in which no two values look the same.
func display(value row.Value) string { return string(row.AppendValue(nil, value)) }

// renamed puts each field that a rename step renamed, gone under one name and new under another, into one change.
func renamed(node *plan.Node, list []Change) []Change {
	if node.Operation != plan.Rename {
		return list
	}
	for _, entry := range node.Spec.Rename {
		old := slices.IndexFunc(list, func(c Change) bool { return c.Field == entry.Name && c.After == nil })
		now := slices.IndexFunc(list, func(c Change) bool { return c.Field == entry.Value && c.After != nil && c.From == "" })
		if old < 0 || now < 0 {
			continue
		}
		list[now].From, list[now].Before = entry.Name, list[old].Before
		list = slices.Delete(list, old, old+1)
	}
	return list
}

// keep keeps the record as text if it is text.
func (o *Origin) keep(record []byte) {
	if utf8.Valid(record) {
		o.Raw = string(record)
		return
	}
	o.RawBase64 = append([]byte(nil), record...)
}
