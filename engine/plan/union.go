package plan

import (
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// checkCoalesce works out the rows that the coalesce makes of its branches.
func (c *compiler) checkCoalesce(i int) {
	node := &c.plan.Nodes[i]
	branches := c.branchSchemas(i)
	if branches == nil {
		node.Out = unknownRows()
		return
	}
	switch node.Coalescing.Merge.Word {
	case pipeline.Nested:
		node.Out = nestedSchema(node.Coalescing)
	case pipeline.SelectBranch:
		node.Out = branches[slices.Index(node.Coalescing.Branches, node.Coalescing.Merge.Select)]
	default:
		c.checkUnion(node, branches)
	}
}

// branchSchemas returns the rows that come by each branch of the coalesce, or nil after a problem.
func (c *compiler) branchSchemas(i int) []Schema {
	node := &c.plan.Nodes[i]
	sound := c.doc.Sound(node.Path+".coalesce") && c.doc.Sound(node.Path+".merge") && c.doc.Sound(node.Path+".policy")
	if node.Coalescing == nil || c.doubt.inputs[i] || len(c.incoming[i]) != len(node.Inputs) || !sound {
		return nil
	}
	var schemas []Schema
	for _, branch := range node.Coalescing.Branches {
		var inputs []Schema
		for k, edge := range c.incoming[i] {
			if slices.ContainsFunc(edge.ways, func(way arrival) bool { return c.belongs(node, way) && way.context[len(way.context)-1].Name == branch }) {
				inputs = append(inputs, node.Inputs[k])
			}
		}
		if len(inputs) == 0 {
			return nil
		}
		schema, err := merge(inputs)
		if err != nil {
			c.problem(pipeline.Key(node.Path+".coalesce", branch), "the rows of branch %q differ: %v; cast them alike before they meet", branch, err)
			return nil
		}
		schemas = append(schemas, schema)
	}
	return schemas
}

func nestedSchema(coalescing *Coalescing) Schema {
	var out Schema
	for _, branch := range coalescing.Branches {
		out.Fields = append(out.Fields, expr.Field{Name: branch, Kind: row.JSON, Optional: coalescing.Policy.Word != pipeline.RequireAll})
	}
	return out
}

// checkUnion describes rows that have the fields of all branches, in the order in which they appear.
func (c *compiler) checkUnion(node *Node, branches []Schema) {
	var out Schema
	seen := map[string]bool{}
	for _, schema := range branches {
		out.Open, out.unknown = out.Open || schema.Open, out.unknown || schema.unknown
		for _, field := range schema.Fields {
			if seen[field.Name] {
				continue
			}
			seen[field.Name] = true
			if merged, declared := c.unionField(node, branches, field.Name); declared {
				out.Fields = append(out.Fields, merged)
			}
		}
	}
	node.Out = out
}

// unionField describes a field of merged rows. It is not declared if the value may be one that a branch does not declare.
//
// The value is that of the first branch, in order of precedence, which is there and has the field. Where all branches are
// sure to be there, none counts that comes after one which is sure to have it.
func (c *compiler) unionField(node *Node, branches []Schema, name string) (field expr.Field, declared bool) {
	field = expr.Field{Name: name, Optional: true}
	owner, always := None, true // the branch whose kind it is; whether every branch is sure to have it
	sure := node.Coalescing.Policy.Word == pipeline.RequireAll
	for _, k := range precedence(node.Coalescing, len(branches)) {
		i := branches[k].find(name)
		if i == None {
			if branches[k].Open {
				return field, false
			}
			always = false
			continue
		}
		of := branches[k].Fields[i]
		if owner != None && of.Kind != field.Kind && of.Kind != row.Null && field.Kind != row.Null {
			c.unionProblem(node, name, owner, field.Kind, k, of.Kind)
			return field, false
		}
		owner, field.Kind, always = k, of.Kind, always && !of.Optional
		field.Untyped = field.Untyped || of.Untyped
		if sure && !of.Optional {
			field.Optional = false
			if node.Coalescing.Collision != CollisionFail {
				return field, true
			}
		}
	}
	field.Optional = field.Optional && !always
	return field, true
}

// precedence returns the branches in the order in which their values win.
func precedence(coalescing *Coalescing, branches int) []int {
	order := make([]int, branches)
	for k := range order {
		order[k] = k
		if coalescing.Collision == CollisionLast {
			order[k] = branches - 1 - k
		}
	}
	return order
}

func (c *compiler) unionProblem(node *Node, field string, a int, kindA row.Kind, b int, kindB row.Kind) {
	names := node.Coalescing.Branches
	if a > b {
		a, b, kindA, kindB = b, a, kindB, kindA
	}
	c.problem(node.Path+".coalesce", "%q is %s in branch %q and %s in branch %q: cast it alike before they meet, or drop it in one",
		field, kindA, names[a], kindB, names[b])
}
