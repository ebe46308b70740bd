package barrier

import (
	"waymark/engine/plan"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// Results returns what the aggregate functions of a computed field give for the rows of a batch, as they came to the barrier, in the
// order of program.Calls. It is for explanations: a Machine does not keep all rows. The error is an *expr.EvalError.
func Results(program *expr.BatchProgram, rows []row.Row) ([]row.Value, error) {
	results := make([]row.Value, len(program.Calls()))
	for k := range results {
		call := &program.Calls()[k]
		total := newAccumulator(call)
		for _, in := range rows {
			value := row.NullValue()
			if call.Arg != nil {
				var err error
				if value, err = call.Arg.Eval(in); err != nil {
					return nil, err
				}
			}
			total.add(value)
		}
		var err error
		if results[k], err = total.result(); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// Condition returns what the expression of the node's trigger sees of a batch of that many rows, whose computed fields have these
// values, in their order. The node has such an expression.
func Condition(node *plan.Node, computed []row.Value, rows int64) row.Row {
	var names []string
	for _, field := range node.Batch.Compute {
		names = append(names, field.Field)
	}
	return row.Row{Shape: row.NewShape(append(names, rowsField)), Values: append(computed, row.IntValue(rows))}
}
