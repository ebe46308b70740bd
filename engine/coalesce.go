package engine

import (
	"slices"

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
	tokens := make([]arrived, len(coalescing.Branches))
	return &passCoalesce{Coalescer: barrier.NewCoalescer(coalescing), node: node, tokens: tokens}
}

func (c *passCoalesce) begin() {
	c.Reset()
	clear(c.tokens)
}

// coalesceOf returns the coalesce that merges, in this pass, the branches of a fork that has the token; nil if there is
// none.
func (p *pass) coalesceOf(forked *token) *passCoalesce {
	if merged, merges := p.plan.Lanes[forked.lane].Merged[forked.at]; merges {
		return p.vertices[p.plan.Lanes[merged].Node].coalescing
	}
	return nil
}

// arrive notes that the current token came to the coalesce over its branch. How it ends is known when the others are
// done.
func (p *pass) arrive(current row.Row) (pipeline.Path, error) {
	coalescing, b := p.vertices[p.token.at].coalescing, p.branches[p.token.lane]
	p.step(noLabel)
	p.see(Event{Lane: p.token.lane, Node: p.token.at, Before: current, After: current})
	coalescing.tokens[b] = arrived{p.token.lane, p.token.way, p.totals.current()}
	coalescing.Arrive(b, current)
	return "", nil
}

// mergeBranches ends the tokens that came to the coalesce as it decides, and sends the merged row on. The current token
// is the forked one.
func (p *pass) mergeBranches(coalescing *passCoalesce) (pipeline.Path, error) {
	merged := p.plan.Lanes[p.token.lane].Merged[p.token.at]
	coalescing.Finish()
	decision := coalescing.Decision()
	p.endArrived(coalescing, decision)
	p.token.lane, p.token.at, p.token.way = merged, coalescing.node, nil
	p.result.noteDecision(&p.token, decision)
	p.totals.next()
	switch {
	case decision.Nothing:
		return pipeline.ForkParent, nil
	case decision.Rejected != nil:
		return p.reject(decision.Rejected)
	}
	p.step(noLabel)
	p.see(Event{Lane: merged, Node: coalescing.node, After: decision.Row, Decision: &decision})
	p.noteHash(decision.Row, row.Change{})
	p.totals.open(coalescing.node, p.token.way.seq, decision.Row)
	return p.branch(merged, p.vertices[coalescing.node].next, decision.Row)
}

// endArrived ends the tokens that came: those of which the merged row is made, and those that were not needed.
func (p *pass) endArrived(coalescing *passCoalesce, decision barrier.Decision) {
	for b := range coalescing.tokens {
		came := &coalescing.tokens[b]
		if came.way == nil {
			continue
		}
		p.token.lane, p.token.way = came.lane, came.way
		p.totals.resume(came.amounts)
		path := pipeline.Coalesced
		if slices.Contains(decision.NotNeeded, b) {
			path = pipeline.BranchNotNeeded
		}
		p.end(path, "")
	}
}
