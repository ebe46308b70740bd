package engine

import (
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// joining is a coalesce whose branches meet in one pass, for one row at a time.
type joining struct {
	*barrier.Join
	node   int
	tokens []arrived // by branch
}

// arrived is a token that came to a coalesce and waits for its decision; its way is nil if none came.
type arrived struct {
	lane int
	way  *wayNode
}

func newJoining(node int, join *plan.Join) *joining {
	return &joining{Join: barrier.NewJoin(join), node: node, tokens: make([]arrived, len(join.Branches))}
}

func (j *joining) begin() {
	j.Reset()
	clear(j.tokens)
}

// joinOf returns the coalesce that joins, in this pass, the branches of a fork that is executed in the lane; nil if there is
// none.
func (r *Runner) joinOf(lane, fork int) *joining {
	if merged, joins := r.plan.Lanes[lane].Merged[fork]; joins {
		return r.vertices[r.plan.Lanes[merged].Node].join
	}
	return nil
}

// arrive notes that the current token came to the coalesce over its branch. How it ends is known when the others are done.
func (r *Runner) arrive(current row.Row) (pipeline.Path, error) {
	join, b := r.vertices[r.at].join, r.branches[r.lane]
	r.way = r.result.ways.step(r.way, r.at, noLabel, r.lane)
	r.see(Event{Lane: r.lane, Node: r.at, Before: current, After: current})
	join.tokens[b] = arrived{r.lane, r.way}
	join.Arrive(b, current)
	return "", nil
}

// joinBranches ends the tokens that came to the coalesce as it decides, and sends the merged row on. lane is the one in which
// the fork was executed.
func (r *Runner) joinBranches(i, lane, fork int, join *joining) (pipeline.Path, error) {
	join.Finish()
	decision := join.Decision()
	r.endArrived(i, join, decision)
	merged := r.plan.Lanes[lane].Merged[fork]
	r.result.noteDecision(i, merged, decision)
	r.lane, r.at, r.way = merged, join.node, nil
	switch {
	case decision.Nothing:
		return pipeline.ForkParent, nil
	case decision.Refused != nil:
		return r.refuse(i, join.node, decision.Refused)
	}
	r.way = r.result.ways.step(nil, join.node, noLabel, merged)
	r.see(Event{Lane: merged, Node: join.node, After: decision.Row, Decision: &decision})
	r.noteHash(i, join.node, decision.Row)
	return r.branch(i, merged, r.vertices[join.node].next, decision.Row)
}

// endArrived ends the tokens that came: those of which the merged row is made, and those that were not needed.
func (r *Runner) endArrived(i int, join *joining, decision barrier.Decision) {
	for b := range join.tokens {
		if join.tokens[b].way == nil {
			continue
		}
		r.lane, r.way = join.tokens[b].lane, join.tokens[b].way
		path := pipeline.Coalesced
		for _, late := range decision.NotNeeded {
			if late == b {
				path = pipeline.BranchNotNeeded
			}
		}
		r.end(i, path, "")
	}
}
