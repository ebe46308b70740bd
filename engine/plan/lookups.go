package plan

import (
	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// checkLookup compares the fields that rows are looked up by with those of the table, and adds the table's.
func (c *compiler) checkLookup(node *Node, in Schema) {
	if node.Table == nil {
		c.checkKeysOf(node, in)
		return
	}
	for k, name := range node.Table.On {
		path, key := pipeline.Key(node.Path+".lookup.on", name), node.Table.Keys[k]
		field, found := c.fieldAt(in, name, path)
		if found && field.Kind != row.JSON && field.Kind != row.Null && !row.CanEqual(field.Kind, key.Kind) {
			c.problem(path, "%q is %s and %q of the table is %s, which are never equal: cast one of them", name, field.Kind, key.Name, key.Kind)
		}
	}
	out := in.clone()
	for _, known := range node.Table.Fields {
		field := expr.Field{Name: known.Name, Kind: known.Kind, Optional: known.Optional}
		field.Optional = field.Optional || node.Spec.Lookup.Missing != MissingRefuse
		out.put(field)
	}
	node.Out = out
}

// checkKeysOf checks a lookup whose table has a problem.
func (c *compiler) checkKeysOf(node *Node, in Schema) {
	for _, entry := range node.Spec.Lookup.On {
		c.field(in, entry.Name, pipeline.Key(node.Path+".lookup.on", entry.Name))
	}
	node.Out = in.clone()
	for _, entry := range node.Spec.Lookup.Add {
		node.Out.put(doubtful(entry.Name))
	}
}

// checkExpand describes the rows of a list's elements: the row of the list with the element, and its number if wanted.
func (c *compiler) checkExpand(node *Node, in Schema) {
	spec, path := node.Spec.Expand, node.Path+".expand.field"
	field, found := c.fieldAt(in, spec.Field, path)
	element := untyped(spec.Field) // an element may be null
	if spec.Split != "" {
		element = expr.Field{Name: spec.Field, Kind: row.String}
	}
	switch {
	case !found || field.Kind == row.JSON || field.Kind == row.Null:
	case spec.Split == "" && field.Kind == row.String:
		c.problem(path, "%q is string: say with split what is between its elements, or cast it to json", spec.Field)
	case spec.Split == "":
		c.problem(path, "%q is %s; expand takes a json field that holds a list, or a string field with split", spec.Field, field.Kind)
	case field.Kind != row.String:
		c.problem(path, "%q is %s; only a string is split", spec.Field, field.Kind)
	}
	out := in.clone()
	if spec.As != "" {
		element.Name = spec.As
	}
	out.put(element)
	if spec.Index != "" {
		out.put(expr.Field{Name: spec.Index, Kind: row.Int})
	}
	node.Out = out
}
