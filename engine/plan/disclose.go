package plan

import (
	"slices"

	"waymark/pipeline"
)

// checkDisclosed takes over which fields of a sink's rows can be disclosed. The sink must get a field, and write it.
func (c *compiler) checkDisclosed(node *Node) {
	spec, _ := c.doc.Pipeline.Sinks.Get(node.Name)
	path := node.Path + ".disclose"
	if len(spec.Disclose) == 0 || !c.doc.Sound(path) {
		return
	}
	if node.Errors {
		c.problem(path, "the sink takes refused rows, and nothing of these can be disclosed: put disclose at the sink that takes the rows themselves")
		return
	}
	c.fields(node.Out, spec.Disclose, path)
	for k, name := range spec.Disclose {
		if columns := columnsOf(spec); columns != nil && !slices.Contains(columns, name) {
			c.problem(pipeline.Item(path, k), "%q is not among the columns that the sink writes%s", name, meantOf(name, columns))
		}
	}
	node.Shown = slices.Sorted(slices.Values(spec.Disclose))
}

// columnsOf returns the columns that the document names for a sink; nil if it names none.
func columnsOf(spec pipeline.Sink) []string {
	switch {
	case spec.CSV != nil:
		return spec.CSV.Columns
	case spec.Postgres != nil:
		return spec.Postgres.Columns
	case spec.Parquet != nil:
		return spec.Parquet.Columns
	}
	return nil
}
