package plan

import (
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// checkAggregate compiles what is computed over a batch and describes the rows that come out: one of the group's fields and
// the computed ones, or each row with the computed ones.
func (c *compiler) checkAggregate(node *Node, in Schema) {
	spec := node.Spec.Aggregate
	var groups []expr.Field
	if c.doc.Sound(node.Path + ".aggregate.group_by") {
		groups = c.fields(in, spec.GroupBy, node.Path+".aggregate.group_by")
	}
	node.Batch = newBatch(spec.GroupBy, node.Spec.Trigger)
	node.Batch.ExpectRows = spec.ExpectRows
	out := Schema{Fields: groups}
	if keeps(node) {
		out = in.clone()
	}
	if len(groups) < len(spec.GroupBy) || !c.doc.Sound(node.Path+".aggregate.mode") || !c.doc.SoundItself(node.Path+".aggregate.compute") {
		out.unknown, out.Open = true, true
	}
	computed := c.checkCompute(node, in)
	for _, field := range computed {
		out.put(field)
	}
	node.Out = out
	c.checkWhen(node, computed, out.unknown)
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
		at := pipeline.Key(path, entry.Name)
		if !c.legible(at, entry.Value) {
			computed = append(computed, doubtful(entry.Name))
			continue
		}
		program, err := env.CompileBatch(entry.Value, expr.Any)
		if err != nil {
			c.exprProblem(at, err)
			computed = append(computed, doubtful(entry.Name))
			continue
		}
		node.Batch.Compute = append(node.Batch.Compute, Computed{entry.Name, program})
		field := fieldOf(entry.Name, program)
		if in.hasDoubts() && program.Dynamic() {
			field = doubtful(entry.Name)
		}
		computed = append(computed, field)
	}
	return computed
}

// batchRows is the name by which a trigger sees the number of the batch's rows. The loader rejects computed fields of it.
const batchRows = "rows"

// checkWhen compiles the expression that ends batches, over their computed fields, to which more may belong, and number of
// rows.
func (c *compiler) checkWhen(node *Node, computed []expr.Field, open bool) {
	trigger, path := node.Spec.Trigger, node.Path+".trigger.when"
	if trigger == nil || !c.legible(path, trigger.When) {
		return
	}
	env, err := expr.NewBatchEnv(append(slices.Clone(computed), expr.Field{Name: batchRows, Kind: row.Int}), open, c.doc.Params)
	c.exprProblem(path, err)
	if env == nil {
		return
	}
	node.Batch.When, err = env.Compile(trigger.When, expr.Bool)
	c.exprProblem(path, err)
}
