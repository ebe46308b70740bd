package graphs

import (
	"cmp"
	"encoding/json"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// expander makes a row of each element of a list. All that one turn brings is one batch.
type expander struct {
	in   *interpreter
	node *node
}

func (x *expander) accept(events []event) settlement {
	batch := x.in.settled(x.node, "arrival", pipeline.ExpandParent, events)
	spec := x.node.step.Expand
	var s settlement
	for _, e := range events {
		for i, element := range elements(spec, e.row) {
			out := fieldsOf(e.row)
			out.put(cmp.Or(spec.As, spec.Field), element)
			if spec.Index != "" {
				out.put(spec.Index, row.IntValue(int64(i+1)))
			}
			s.outs = append(s.outs, birth{row: out.row(), parents: []*token{e.token}, batch: batch})
		}
	}
	return s
}

func (x *expander) end() settlement { return settlement{} }

// emptyList reports whether there is nothing to expand, and why the field is no list.
func emptyList(spec *pipeline.Expand, r row.Row) (bool, *Refusal) {
	value, _ := r.Get(spec.Field)
	isText := spec.Split != "" && value.Kind() == row.String
	isList := spec.Split == "" && value.Kind() == row.JSON && strings.HasPrefix(value.Text(), "[")
	switch {
	case value.IsNull():
		return true, nil
	case !isText && !isList:
		return false, &Refusal{codeNotAList, spec.Field}
	}
	return len(elements(spec, r)) == 0, nil
}

// elements returns the elements of a list that is one. There is nothing in an empty text.
func elements(spec *pipeline.Expand, r row.Row) []row.Value {
	value, _ := r.Get(spec.Field)
	if spec.Split != "" {
		return textElements(value.Text(), spec.Split)
	}
	var texts []json.RawMessage
	if err := json.Unmarshal([]byte(value.Text()), &texts); err != nil {
		panic(err)
	}
	var list []row.Value
	for _, text := range texts {
		element := row.NullValue()
		if string(text) != "null" {
			element = jsonValue(string(text))
		}
		list = append(list, element)
	}
	return list
}

func textElements(text, separator string) []row.Value {
	var list []row.Value
	if text == "" {
		return nil
	}
	for _, part := range strings.Split(text, separator) {
		list = append(list, row.StringValue(part))
	}
	return list
}
