package plan

import (
	"fmt"
	"slices"
	"strings"

	"waymark/pipeline"
)

// belongs reports whether tokens that arrive so came down a branch that the coalesce merges, and down no other since.
func (c *compiler) belongs(node *Node, way arrival) bool {
	last := len(way.context) - 1
	return last >= 0 && way.context[last].Fork == node.Coalescing.Fork && slices.Contains(node.Coalescing.Branches, way.context[last].Name)
}

// checkArriving reports the branches that do not reach the coalesce, and whether it said what is in their way.
func (c *compiler) checkArriving(i int, met []string) (explained bool) {
	node := &c.plan.Nodes[i]
	for _, branch := range node.Coalescing.Branches {
		if slices.Contains(met, branch) {
			continue
		}
		path := pipeline.Key(node.Path+".coalesce", branch)
		if obstacle := c.obstacle(branch, i); obstacle != "" {
			c.problem(path, "branch %q does not reach %q: %s", branch, node.Name, obstacle)
			explained = true
			continue
		}
		if c.doubt.edges {
			continue
		}
		c.problem(path, "branch %q never reaches %q: lead its rows there, or leave it out", branch, node.Name)
	}
	return explained
}

// checkNamed reports branches whose rows do not come by the node that the coalesce names for them.
func (c *compiler) checkNamed(i int) {
	node := &c.plan.Nodes[i]
	for _, entry := range node.Spec.Coalesce {
		came := c.comeBy(i, entry.Value)
		if len(came) > 0 && !slices.Contains(came, entry.Name) {
			c.problem(pipeline.Key(node.Path+".coalesce", entry.Name), "rows of branch %q do not come to %q by %q, but rows of %s do: name the node that they come by",
				entry.Name, node.Name, entry.Value, strings.Join(came, ", "))
		}
	}
}

// comeBy returns the branches whose rows come to the coalesce by a node, or by a branch that leads there at once.
func (c *compiler) comeBy(coalesce int, name string) []string {
	if _, ok := c.branches[name]; ok {
		return []string{name}
	}
	var came []string
	for _, edge := range c.incoming[coalesce] {
		for _, way := range edge.ways {
			if edge.from == c.index[name] && len(way.context) > 0 {
				came = append(came, way.context[len(way.context)-1].Name)
			}
		}
	}
	return came
}

// obstacle says what is between the beginning of the branch and the coalesce that ends the branch, or "" if no way leads
// from the one to the other.
func (c *compiler) obstacle(name string, coalesce int) string {
	at := c.branches[name]
	if c.plan.Nodes[at.fork].Routes[at.route].To.Node == None {
		return ""
	}
	between := c.between(c.plan.Nodes[at.fork].Routes[at.route].To.Node, coalesce)
	for i, ok := range between {
		node := &c.plan.Nodes[i]
		joint, coalesced := c.coalesced[i]
		switch {
		case !ok:
		case node.Barrier && !node.Keeps && node.Coalescing == nil:
			return fmt.Sprintf("the rows that come out of %q are new ones, of no branch; move it after the coalesce", node.Name)
		case node.Operation == Fork && (!coalesced || !between[joint]):
			return fmt.Sprintf("its rows go down the branches of %q; join these first, with a coalesce of their own", node.Name)
		}
	}
	return ""
}

// between returns, by node, whether it is on a way from one node to another, which themselves are.
func (c *compiler) between(from, to int) []bool {
	ahead, on := make([]bool, len(c.plan.Nodes)), make([]bool, len(c.plan.Nodes))
	ahead[from] = true
	for i := range c.plan.Nodes {
		for _, next := range c.plan.Nodes[i].successors() {
			ahead[next] = ahead[next] || ahead[i]
		}
	}
	on[to] = ahead[to]
	for i := to - 1; i >= from; i-- {
		for _, next := range c.plan.Nodes[i].successors() {
			on[i] = on[i] || ahead[i] && on[next]
		}
	}
	return on
}

// checkStrangers reports rows that reach the coalesce and are of no branch that it merges.
func (c *compiler) checkStrangers(i int) {
	node := &c.plan.Nodes[i]
	for _, edge := range c.incoming[i] {
		for _, way := range edge.ways {
			if c.belongs(node, way) {
				continue
			}
			c.problem(node.Path+".coalesce", "%s reach %q by %q, and it joins %s of %q: lead them past it, or name their branch",
				"rows of "+c.contextText(way.context), node.Name, c.plan.Nodes[edge.from].Name, strings.Join(node.Coalescing.Branches, ", "), c.plan.Nodes[node.Coalescing.Fork].Name)
			return
		}
	}
}
