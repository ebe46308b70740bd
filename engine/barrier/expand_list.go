package barrier

import (
	"strings"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
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
func (t *expandIntake) Take(in row.Row) (kept row.Row, empty bool, rejected *plugin.Rejection) {
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
		return "expected a string to split, found " + value.Kind().String()
	}
	if value.Kind() == row.JSON {
		return "expected a JSON list, found other JSON"
	}
	return "expected a JSON list, found " + value.Kind().String()
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
