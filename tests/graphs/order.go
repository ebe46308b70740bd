package graphs

import (
	"cmp"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// keyOf returns the values of the fields as one text that differs if a value does.
func keyOf(r row.Row, names []string) string {
	var key []byte
	for _, name := range names {
		value, _ := r.Get(name)
		key = append(row.AppendValue(key, value.Key()), '|')
	}
	return string(key)
}

// compareRows orders rows by fields, null first.
func compareRows(by pipeline.Map[string], a, b row.Row) int {
	for _, entry := range by {
		x, _ := a.Get(entry.Name)
		y, _ := b.Get(entry.Name)
		order := compareValues(x, y)
		if entry.Value == "desc" {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// compareValues orders values of one kind. Null comes before everything.
func compareValues(a, b row.Value) int {
	switch {
	case a.IsNull() || b.IsNull():
		return cmp.Compare(boolInt(!a.IsNull()), boolInt(!b.IsNull()))
	case a.Kind() != b.Kind():
		panic("graphs: " + a.Kind().String() + " and " + b.Kind().String() + " are not compared")
	case a.Kind() == row.Float:
		return cmp.Compare(a.Float(), b.Float())
	case a.Kind() == row.Int || a.Kind() == row.Date:
		return cmp.Compare(a.Int(), b.Int())
	}
	return strings.Compare(a.Text(), b.Text())
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
