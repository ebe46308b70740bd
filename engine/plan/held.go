package plan

import "slices"

// holdCoalesces notes the coalesces one of whose branches may wait in a barrier, whether a way leads from there to the
// coalesce or not: until the row comes out again it is open how the branch ends. Inner coalesces come before outer ones.
func (c *compiler) holdCoalesces() {
	for i := range c.plan.Nodes {
		coalescing := c.plan.Nodes[i].Coalescing
		if coalescing == nil {
			continue
		}
		for _, branch := range c.plan.Nodes[coalescing.Fork].Routes {
			if slices.Contains(coalescing.Branches, branch.Label) {
				c.holdFor(i, branch)
			}
		}
	}
}

// holdFor notes whether the coalesce must wait for rows of the branch. The end of everything comes to barriers in document
// order, so what keeps such rows back must come before the coalesce.
func (c *compiler) holdFor(coalesce int, branch Route) {
	for _, i := range c.keepers(branch.To.Node, coalesce) {
		c.plan.Nodes[coalesce].Coalescing.Held = true
		if i > coalesce {
			c.problem(c.plan.Nodes[i].Path, "%q keeps rows of branch %q back and comes after %q, which waits to hear of them: move it before %q",
				c.plan.Nodes[i].Name, branch.Label, c.plan.Nodes[coalesce].Name, c.plan.Nodes[coalesce].Name)
		}
	}
}

// keepers returns, in order, the barriers in which a token that stands for a branch, and is at this node now, may wait and go
// on later.
func (c *compiler) keepers(start, coalesce int) []int {
	if start == None {
		return nil
	}
	reached := make([]bool, len(c.plan.Nodes))
	reached[start] = true
	var found []int
	for at := start; at < len(c.plan.Nodes); at++ {
		node := &c.plan.Nodes[at]
		switch {
		case !reached[at] || at == coalesce || isBarrier(node) && !keeps(node):
		case isBarrier(node) || node.Coalescing != nil && node.Coalescing.Held:
			found = append(found, at)
		default:
			for _, next := range c.standIns(at) {
				reached[next] = true
			}
		}
	}
	return found
}

// standIns returns where what stands for a branch goes from the node. What a fork sends on stands for it only by way of the
// branches that the fork's own coalesce merges.
func (c *compiler) standIns(at int) []int {
	node := &c.plan.Nodes[at]
	if node.Operation != Fork {
		return node.successors()
	}
	inner, coalesced := c.coalesced[at]
	var next []int
	for _, branch := range node.Routes {
		if coalesced && branch.To.Node != None && slices.Contains(c.plan.Nodes[inner].Coalescing.Branches, branch.Label) {
			next = append(next, branch.To.Node)
		}
	}
	return next
}
