package graphs

import "waymark/pipeline"

// fork ends the token and sends a copy of it down each branch, one branch after the other. If the coalesce of the branches
// decides within the turn, the merged row continues when all branches are done.
func (in *interpreter) fork(n *node, t *token) {
	joined := in.graph.byName[in.graph.coalesce[n.name]]
	in.note(t, n, pipeline.ForkParent)
	in.result.Nodes[n.name].Consumed++
	if joined == nil {
		in.lose(t, pipeline.ForkParent)
	}
	within := joined != nil && !in.graph.held[joined.name]
	if within {
		in.coalescings[t.id()] = newCoalescing(joined.step, n.step.Fork, t)
	}
	for _, branch := range n.step.Fork {
		in.goDown(n, t, joined, branch)
	}
	if within {
		in.finish(joined, in.coalescings[t.id()])
		delete(in.coalescings, t.id())
	}
}

// goDown sends a copy of the token down a branch. The copy stands for the branch if a coalesce expects it.
func (in *interpreter) goDown(n *node, t *token, joined *node, branch string) {
	child := t.child(branch)
	child.row, child.parents = t.row, []*token{t}
	if joined != nil && expects(joined.step, branch) {
		child.open = append(append(child.open, t.open...), openBranch{t, branch})
	}
	in.result.Nodes[n.name].Created++
	in.result.Nodes[n.name].Out++
	in.walk(child, in.graph.next[branch])
}

// arrive brings a token to a coalesce within the turn.
func (in *interpreter) arrive(n *node, t *token) {
	innermost := t.open[len(t.open)-1]
	in.result.Nodes[n.name].Consumed++
	path := in.coalescings[innermost.parent.id()].arrive(innermost.branch, t)
	in.note(t, n, path)
}

// finish lets what the coalesce made of the branches go on.
func (in *interpreter) finish(n *node, j *coalescing) {
	merge := j.merge(n)
	in.result.Merges = append(in.result.Merges, merge)
	if merge.Result == resultNothing {
		in.lose(j.parent, pipeline.ForkParent)
		return
	}
	merged := j.parent.child(n.name)
	merged.open, merged.row, merged.parents = j.parent.open, j.row, j.tokens()
	merge.Merged = merged.id()
	counts := in.result.Nodes[n.name]
	counts.Created++
	if j.refused != nil {
		in.refuse(n, merged, *j.refused)
		return
	}
	counts.Out++
	in.walk(merged, in.graph.next[n.name])
}
