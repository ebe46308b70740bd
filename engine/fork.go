package engine

import (
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// fork ends the current token and sends a copy of it down every branch; then, if the branches meet in this pass, what
// becomes of them continues. The copies share the values, which nobody changes.
func (r *Runner) fork(i int, current row.Row) (pipeline.Path, error) {
	node, lane, way := r.at, r.lane, r.way
	keys, token := len(r.keys), r.totals.current()
	r.way = r.result.ways.step(way, node, noLabel, lane)
	r.see(Event{Lane: lane, Node: node, Before: current, After: current})
	r.end(i, pipeline.ForkParent, "")
	coalescing := r.coalesceOf(lane, node)
	if coalescing != nil {
		coalescing.begin()
	}
	for b, child := range r.plan.Lanes[lane].Forks[node] {
		r.keys = r.openFork(keys, child, barrier.Token{Lane: lane, Row: r.chunk.FirstRow + int64(i)})
		r.way = r.result.ways.step(way, node, b, lane)
		r.totals.copied(token, r.way.seq)
		lost, err := r.branch(i, child, r.vertices[node].exits[b].to, current)
		if err != nil {
			return "", err
		}
		if lost != "" {
			r.tell(child, coalescing, keys, lost)
		}
	}
	r.keys, r.lane, r.at = r.keys[:keys], lane, node
	switch {
	case coalescing != nil:
		return r.mergeBranches(i, lane, node, coalescing)
	case r.vertices[node].coalesce != plan.None:
		return "", nil // its coalesce holds the branches, or is told that they are lost
	}
	return pipeline.ForkParent, nil
}

// openFork returns the keys of a token in the child's lane: those of the forked token and, if the fork stays open, the
// forked token itself.
func (r *Runner) openFork(keys, child int, parent barrier.Token) []barrier.Token {
	opened := r.keys[:keys]
	if len(r.plan.Lanes[child].Context) > keys {
		opened = append(opened, parent)
	}
	return opened
}

// tell tells the coalesce over a fork that the branch of the child's lane is lost.
func (r *Runner) tell(child int, coalescing *passCoalesce, keys int, lost pipeline.Path) {
	b := r.branches[child]
	switch {
	case b == plan.None:
	case coalescing != nil:
		coalescing.Lose(b, lost)
	default:
		context := r.plan.Lanes[child].Context
		r.lose(context[len(context)-1].Coalesce, barrier.Loss{Keys: r.copyKeys(r.keys[:keys+1]), Branch: b, Reason: lost})
	}
}

// lose tells a coalesce that holds branches that one of them is lost.
func (r *Runner) lose(coalesce int, loss barrier.Loss) {
	if !r.quiet {
		arrivals := r.result.arrivals(coalesce)
		arrivals.Losses = append(arrivals.Losses, loss)
	}
}

func (r *Runner) copyKeys(keys []barrier.Token) []barrier.Token {
	if len(keys) == 0 {
		return nil
	}
	return append([]barrier.Token(nil), keys...)
}
