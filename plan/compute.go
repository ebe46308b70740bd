package plan

import (
	"slices"

	"waymark/expr"
	"waymark/pipeline"
	"waymark/row"
)

// checkAggregate compiles what is computed over a batch and describes the rows that come out: one of the group's fields and
// the computed ones, or each row with the computed ones.
func (c *compiler) checkAggregate(node *Node, in Schema) {
	spec := node.Spec.Aggregate
	groups := c.fields(in, spec.GroupBy, node.Path+".aggregate.group_by")
	node.Batch = newBatch(spec.GroupBy, node.Spec.Trigger)
	node.Batch.ExpectRows = spec.ExpectRows
	out := Schema{Fields: groups}
	if node.Keeps {
		out = Schema{Fields: slices.Clone(in.Fields), Open: in.Open}
	}
	computed := c.checkCompute(node, in)
	for _, field := range computed {
		out.put(field)
	}
	node.Out = out
	c.checkWhen(node, computed)
}

// checkCompute compiles the computed fields and returns their types.
func (c *compiler) checkCompute(node *Node, in Schema) []expr.Field {
	path := node.Path + ".aggregate.compute"
	env := c.env(in, path)
	if env == nil {
		return nil
	}
	var computed []expr.Field
	for _, entry := range node.Spec.Aggregate.Compute {
		program, err := env.CompileBatch(entry.Value, expr.Any)
		if err != nil {
			c.exprProblem(pipeline.Key(path, entry.Name), err)
			continue
		}
		node.Batch.Compute = append(node.Batch.Compute, Computed{entry.Name, program})
		computed = append(computed, fieldOf(entry.Name, program))
	}
	return computed
}

// batchRows is the name by which a trigger sees the number of the batch's rows. The loader refuses computed fields of it.
const batchRows = "rows"

// checkWhen compiles the expression that ends batches, over their computed fields and number of rows.
func (c *compiler) checkWhen(node *Node, computed []expr.Field) {
	trigger := node.Spec.Trigger
	if trigger == nil || trigger.When == "" || len(c.problems) > 0 {
		return
	}
	path := node.Path + ".trigger.when"
	env, err := expr.NewBatchEnv(append(slices.Clone(computed), expr.Field{Name: batchRows, Kind: row.Int}), c.doc.Params)
	c.exprProblem(path, err)
	if env == nil {
		return
	}
	node.Batch.When, err = env.Compile(trigger.When, expr.Bool)
	c.exprProblem(path, err)
}
