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
		values, err := Arguments(call, rows)
		if err != nil {
			return nil, err
		}
		total := newAccumulator(call)
		for _, value := range values {
			total.add(value)
		}
		if results[k], err = total.result(); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// Arguments returns what a function of a computed field gets of each row of a batch; nulls for one without an argument. The error is an *expr.EvalError.
func Arguments(call *expr.Call, rows []row.Row) ([]row.Value, error) {
	values := make([]row.Value, len(rows))
	for k, in := range rows {
		if values[k] = row.NullValue(); call.Arg == nil {
			continue
		}
		var err error
		if values[k], err = call.Arg.Eval(in); err != nil {
			return nil, err
		}
	}
	return values, nil
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
