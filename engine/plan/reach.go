package plan

import (
	"waymark/pipeline"
)

// checkReach rejects nodes that no row reaches, rows that reach no end, and sinks that would get both rows and rejections.
func (c *compiler) checkReach() {
	reached := make([]bool, len(c.plan.Nodes))
	for i := range c.plan.Nodes {
		node := &c.plan.Nodes[i]
		if node.Kind == Source {
			reached[i] = true
		}
		if !reached[i] && !node.Errors && !c.doubt.edges {
			c.problem(node.Path, "no row ever reaches %q: give it a `from`, or a route that leads here", node.Name)
		}
		c.checkEnd(node)
		for _, next := range node.successors() {
			reached[next] = true
			if c.plan.Nodes[next].Errors {
				c.problem(c.plan.Nodes[next].Path, "%q gets refused rows (on_error, on_invalid) and the rows of %q; they have different fields, so use two sinks",
					c.plan.Nodes[next].Name, node.Name)
			}
		}
	}
}

// checkEnd rejects a node whose rows go nowhere, and a gate whose rows somebody waits for in vain.
func (c *compiler) checkEnd(node *Node) {
	switch {
	case node.Kind == Sink:
	case node.Operation == Fork:
		c.checkBranches(node)
	case node.Operation == Gate:
		if node.Next != None && !continues(node.Spec) && c.doc.Sound(node.Path+".routes") && !c.doubt.inputs[node.Next] {
			c.problem(node.Path, "%q takes the rows of the gate %q, but none of its routes continues", c.plan.Nodes[node.Next].Name, node.Name)
		}
	case node.Next == None && !c.doubt.edges:
		c.problem(node.Path, "the rows of %q go nowhere: let a sink take them with `from: %s`", node.Name, node.Name)
	}
}

func (c *compiler) checkBranches(node *Node) {
	for k, route := range node.Routes {
		if route.To.Node == None && !c.doubt.edges {
			c.problem(pipeline.Item(node.Path+".fork", k), "the rows of branch %q go nowhere: let a step or a sink take them with `from: %s`", route.Label, route.Label)
		}
	}
}

// successors returns the nodes to which the node's edges lead, without refusals, without repeats.
func (n *Node) successors() []int {
	var next []int
	if n.Next != None && n.Operation != Gate {
		next = append(next, n.Next)
	}
	seen := map[int]bool{}
	for _, route := range n.Routes {
		if route.To.Node != None && !seen[route.To.Node] {
			seen[route.To.Node] = true
			next = append(next, route.To.Node)
		}
	}
	return next
}

// Depths returns, by node, how many barriers rows meet at most before they come to it, or before a coalesce knows that
// they do not. Barriers of one depth get nothing of what comes out of each other.
func (p *Plan) Depths() []int {
	depths := make([]int, len(p.Nodes))
	for i := range p.Nodes {
		behind := depths[i]
		if p.Nodes[i].Barrier {
			behind++
		}
		for _, next := range p.Nodes[i].successors() {
			depths[next] = max(depths[next], behind)
		}
		for _, branch := range p.Nodes[i].Context { // what comes out of a barrier may end a branch that a coalesce waits for
			if branch.Coalesce != None {
				depths[branch.Coalesce] = max(depths[branch.Coalesce], behind)
			}
		}
	}
	return depths
}
