package audit

import (
	"waymark/engine/plan"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// Term is an expression of a node, or a field that it goes by, and what that was for the row.
type Term struct {
	For        string  `json:"for"`                  // the field that is set, cast or computed; or group_by, key, by asc, by desc, on FIELD of the table, field
	Expression string  `json:"expression,omitempty"` // as written; of a cast: the type; "" for a field
	Values     []Value `json:"values,omitempty"`     // of the expression's parts, outermost first; of an aggregate: of what its functions get of the row

	Contributions []Contribution `json:"contributions,omitempty"` // of a computed field of a batch, by function
}

// terms returns the expressions and fields by which a node works on the row; nil for gates and filters, which have one expression,
// and for nodes without any.
func terms(node *plan.Node, in row.Row) []Term {
	if node.Kind != plan.Step || in.Shape == nil {
		return nil
	}
	switch node.Operation {
	case plan.Set:
		return setTerms(node, in)
	case plan.Cast:
		return castTerms(node, in)
	case plan.Lookup:
		return lookupTerms(node, in)
	case plan.Deduplicate:
		return fieldTerms("key", node.Spec.Deduplicate.Key, in)
	case plan.Expand:
		return fieldTerms("field", []string{node.Spec.Expand.Field}, in)
	case plan.Sort:
		return sortTerms(node, in)
	case plan.Aggregate:
		return append(fieldTerms("group_by", node.Batch.GroupBy, in), computeTerms(node, in)...)
	}
	return nil
}

func setTerms(node *plan.Node, in row.Row) []Term {
	var list []Term
	for k, entry := range node.Spec.Set {
		list = append(list, Term{For: entry.Name, Expression: entry.Value, Values: values(node.Exprs[k].Explain(in))})
	}
	return list
}

func castTerms(node *plan.Node, in row.Row) []Term {
	var list []Term
	for _, entry := range node.Spec.Cast {
		list = append(list, Term{For: entry.Name, Expression: entry.Value, Values: []Value{fieldValue(entry.Name, in)}})
	}
	return list
}

func lookupTerms(node *plan.Node, in row.Row) []Term {
	var list []Term
	for _, entry := range node.Spec.Lookup.On {
		list = append(list, fieldTerms("on "+entry.Value, []string{entry.Name}, in)...)
	}
	return list
}

func sortTerms(node *plan.Node, in row.Row) []Term {
	list := fieldTerms("group_by", node.Batch.GroupBy, in)
	for _, order := range node.Batch.By {
		by := "by asc"
		if order.Descending {
			by = "by desc"
		}
		list = append(list, fieldTerms(by, []string{order.Field}, in)...)
	}
	return list
}

// computeTerms returns what the functions of an aggregate get of the row.
func computeTerms(node *plan.Node, in row.Row) []Term {
	var list []Term
	for k, computed := range node.Batch.Compute {
		term := Term{For: computed.Field, Expression: node.Spec.Aggregate.Compute[k].Value}
		for _, call := range computed.Program.Calls() {
			if call.Arg != nil {
				term.Values = append(term.Values, values(call.Arg.Explain(in))...)
			}
		}
		list = append(list, term)
	}
	return list
}

func fieldTerms(what string, fields []string, in row.Row) []Term {
	var list []Term
	for _, field := range fields {
		list = append(list, Term{For: what, Values: []Value{fieldValue(field, in)}})
	}
	return list
}

func fieldValue(field string, in row.Row) Value {
	value, found := get(in, field)
	if !found {
		return Value(expr.Part{Source: "row." + field, Error: "the row has no such field"})
	}
	return Value(expr.Part{Source: "row." + field, Value: display(value)})
}
