package plan

import (
	"time"

	"waymark/pipeline"
)

// newBatch returns a batch that these fields group and this trigger, which may be nil, ends.
func newBatch(groupBy []string, trigger *pipeline.Trigger) *Batch {
	b := &Batch{GroupBy: groupBy}
	if trigger != nil {
		b.Rows, b.After = trigger.Rows, time.Duration(trigger.After)
		b.Together = trigger.Over == OverStep
	}
	return b
}

// checkSort finds the fields of the order.
func (c *compiler) checkSort(node *Node, in Schema) {
	spec := node.Spec.Sort
	c.fields(in, spec.GroupBy, node.Path+".sort.group_by")
	node.Batch = newBatch(spec.GroupBy, node.Spec.Trigger)
	node.Batch.Top = spec.Top
	for _, entry := range spec.By {
		c.field(in, entry.Name, pipeline.Key(node.Path+".sort.by", entry.Name))
		node.Batch.By = append(node.Batch.By, Order{Field: entry.Name, Descending: entry.Value == Descending})
	}
}

// OverStep is how a trigger says that its rows are those of the step, and not of one group. A word of the document; never rename.
const OverStep = "step"

// Descending is how a sort says that great values come first. A word of the document; never rename.
const Descending = "desc"

// checkDeduplicate finds the fields of the key. Where the last row of a key stays, a batch is what has the key.
func (c *compiler) checkDeduplicate(node *Node, in Schema) {
	spec := node.Spec.Deduplicate
	c.fields(in, spec.Key, node.Path+".deduplicate.key")
	if node.Barrier {
		node.Batch = newBatch(spec.Key, nil)
	}
}
