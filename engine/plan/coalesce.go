package plan

import (
	"cmp"
	"slices"
	"time"

	"waymark/pipeline"
)

// connectCoalesce finds the fork whose branches the coalesce merges, and leads to it what comes by them.
func (c *compiler) connectCoalesce(i int) {
	step := &c.doc.Pipeline.Steps[i]
	if len(step.From) > 0 {
		c.problem(stepPath(i)+".from", "a coalesce takes the rows that its branches name; delete from")
	}
	fork := c.forkOf(i)
	if fork == None {
		c.doubtRows(step.Name)
		return
	}
	node := &c.plan.Nodes[c.index[step.Name]]
	node.Coalescing = newCoalescing(step, fork)
	for _, route := range c.plan.Nodes[fork].Routes { // the order of the fork, in which branches are run
		if _, coalesced := step.Coalesce.Get(route.Label); coalesced {
			node.Coalescing.Branches = append(node.Coalescing.Branches, route.Label)
		}
	}
	var taken []string
	for _, entry := range step.Coalesce {
		if !slices.Contains(taken, entry.Value) && !c.routedOnly(entry.Value, step.Name) {
			c.takes(step.Name, entry.Value, pipeline.Key(stepPath(i)+".coalesce", entry.Name))
		}
		taken = append(taken, entry.Value)
	}
}

func newCoalescing(step *pipeline.Step, fork int) *Coalescing {
	g := &Coalescing{
		Fork: fork, Policy: step.Policy, Merge: step.Merge,
		Collision: cmp.Or(step.Collision, CollisionLast), Timeout: time.Duration(step.Timeout),
	}
	g.Policy.Word = cmp.Or(g.Policy.Word, pipeline.RequireAll)
	g.Merge.Word = cmp.Or(g.Merge.Word, pipeline.Union)
	return g
}

// forkOf returns the fork that all branches of the coalesce belong to, or None after a problem.
func (c *compiler) forkOf(i int) int {
	step := &c.doc.Pipeline.Steps[i]
	fork, first := None, ""
	for _, entry := range step.Coalesce {
		path := pipeline.Key(stepPath(i)+".coalesce", entry.Name)
		branch, known := c.branches[entry.Name]
		switch {
		case c.unclear(entry.Name):
			return None
		case !known:
			c.problem(path, "no branch named %q%s", entry.Name, c.meantBranch(entry.Name))
			return None
		case fork == None:
			fork, first = branch.fork, entry.Name
		case fork != branch.fork:
			c.problem(path, "%q is a branch of %q and %q one of %q: a coalesce joins the branches of one fork",
				entry.Name, c.plan.Nodes[branch.fork].Name, first, c.plan.Nodes[fork].Name)
			return None
		}
	}
	return c.claimFork(fork, i)
}

// claimFork notes that the coalesce merges the fork, which must come before it and be merged by no other.
func (c *compiler) claimFork(fork, i int) int {
	name, path := c.doc.Pipeline.Steps[i].Name, stepPath(i)+".coalesce"
	other, taken := c.coalesced[fork]
	switch {
	case fork == None: // an empty mapping, which the loader rejects
		return None
	case fork > c.index[name]:
		c.problem(path, "the fork %q comes later than %q, which joins its branches", c.plan.Nodes[fork].Name, name)
		return None
	case taken:
		c.problem(path, "%q joins branches of %q already: one coalesce joins all branches of a fork that meet", c.plan.Nodes[other].Name, c.plan.Nodes[fork].Name)
		return None
	}
	c.coalesced[fork] = c.index[name]
	return fork
}

// routedOnly reports whether the rows of the gate come to the coalesce by its routes alone.
func (c *compiler) routedOnly(gate, coalesce string) bool {
	position, known := c.index[gate]
	if !known || c.plan.Nodes[position].Operation != Gate {
		return false
	}
	spec := c.plan.Nodes[position].Spec
	return !continues(spec) && routesTo(spec, coalesce)
}
