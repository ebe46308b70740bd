package engine

import (
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// passCoalesce is a coalesce whose branches meet in one pass, for one row at a time.
type passCoalesce struct {
	*barrier.Coalescer
	node   int
	tokens []arrived // by branch
}

// arrived is a token that came to a coalesce and waits for its decision; its way is nil if none came.
type arrived struct {
	lane    int
	way     *wayNode
	amounts span
}

func newPassCoalesce(node int, coalescing *plan.Coalescing) *passCoalesce {
	return &passCoalesce{Coalescer: barrier.NewCoalescer(coalescing), node: node, tokens: make([]arrived, len(coalescing.Branches))}
}

func (c *passCoalesce) begin() {
	c.Reset()
	clear(c.tokens)
}

// coalesceOf returns the coalesce that merges, in this pass, the branches of a fork that is executed in the lane; nil if there is
// none.
func (r *Runner) coalesceOf(lane, fork int) *passCoalesce {
	if merged, merges := r.plan.Lanes[lane].Merged[fork]; merges {
		return r.vertices[r.plan.Lanes[merged].Node].coalescing
	}
	return nil
}

// arrive notes that the current token came to the coalesce over its branch. How it ends is known when the others are done.
func (r *Runner) arrive(current row.Row) (pipeline.Path, error) {
	coalescing, b := r.vertices[r.at].coalescing, r.branches[r.lane]
	r.way = r.result.ways.step(r.way, r.at, noLabel, r.lane)
	r.see(Event{Lane: r.lane, Node: r.at, Before: current, After: current})
	coalescing.tokens[b] = arrived{r.lane, r.way, r.totals.current()}
	coalescing.Arrive(b, current)
	return "", nil
}

// mergeBranches ends the tokens that came to the coalesce as it decides, and sends the merged row on. lane is the one in which
// the fork was executed.
func (r *Runner) mergeBranches(i, lane, fork int, coalescing *passCoalesce) (pipeline.Path, error) {
	coalescing.Finish()
	decision := coalescing.Decision()
	r.endArrived(i, coalescing, decision)
	merged := r.plan.Lanes[lane].Merged[fork]
	r.result.noteDecision(i, merged, decision)
	r.lane, r.at, r.way = merged, coalescing.node, nil
	r.totals.next()
	switch {
	case decision.Nothing:
		return pipeline.ForkParent, nil
	case decision.Rejected != nil:
		return r.reject(i, coalescing.node, decision.Rejected)
	}
	r.way = r.result.ways.step(nil, coalescing.node, noLabel, merged)
	r.see(Event{Lane: merged, Node: coalescing.node, After: decision.Row, Decision: &decision})
	r.noteHash(i, coalescing.node, decision.Row)
	r.totals.open(coalescing.node, r.way.seq, decision.Row)
	return r.branch(i, merged, r.vertices[coalescing.node].next, decision.Row)
}

// endArrived ends the tokens that came: those of which the merged row is made, and those that were not needed.
func (r *Runner) endArrived(i int, coalescing *passCoalesce, decision barrier.Decision) {
	for b := range coalescing.tokens {
		if coalescing.tokens[b].way == nil {
			continue
		}
		r.lane, r.way = coalescing.tokens[b].lane, coalescing.tokens[b].way
		r.totals.resume(coalescing.tokens[b].amounts)
		path := pipeline.Coalesced
		for _, late := range decision.NotNeeded {
			if late == b {
				path = pipeline.BranchNotNeeded
			}
		}
		r.end(i, path, "")
	}
}
