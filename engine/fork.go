package engine

import (
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// fork ends the current token and sends a copy of it down every branch; then, if the branches meet in this pass, what
// becomes of them continues. The copies share the values, which nobody changes.
func (p *pass) fork(current row.Row) (pipeline.Path, error) {
	forked, amounts := p.token, p.totals.current()
	p.step(noLabel)
	p.see(Event{Lane: forked.lane, Node: forked.at, Before: current, After: current})
	p.end(pipeline.ForkParent, "")
	coalescing := p.coalesceOf(&forked)
	if coalescing != nil {
		coalescing.begin()
	}
	for b, child := range p.plan.Lanes[forked.lane].Forks[forked.at] {
		p.token = forked
		keys := p.openFork(child)
		p.token.keys = keys
		p.step(b)
		p.totals.copied(amounts, p.token.way.seq)
		lost, err := p.branch(child, p.vertices[forked.at].exits[b].to, current)
		if err != nil {
			return "", err
		}
		if lost != "" {
			p.tell(child, coalescing, keys, lost)
		}
	}
	p.token = forked
	switch {
	case coalescing != nil:
		return p.mergeBranches(coalescing)
	case p.vertices[forked.at].coalesce != plan.None:
		return "", nil // its coalesce holds the branches, or is told that they are lost
	}
	return pipeline.ForkParent, nil
}

// openFork returns the keys of a copy of the current token in the child's lane: its own and, if the fork stays open,
// the token itself.
func (p *pass) openFork(child int) []barrier.Token {
	if len(p.plan.Lanes[child].Context) > len(p.token.keys) {
		return append(p.token.keys, p.id())
	}
	return p.token.keys
}

// tell tells the coalesce over a fork that the branch of the child's lane is lost. keys are those of the branch.
func (p *pass) tell(child int, coalescing *passCoalesce, keys []barrier.Token, lost pipeline.Path) {
	b := p.branches[child]
	switch {
	case b == plan.None:
	case coalescing != nil:
		coalescing.Lose(b, lost)
	default:
		context := p.plan.Lanes[child].Context
		p.lose(context[len(context)-1].Coalesce, barrier.Loss{Keys: copyKeys(keys), Branch: b, Reason: lost})
	}
}

// lose tells a coalesce that holds branches that one of them is lost.
func (p *pass) lose(coalesce int, loss barrier.Loss) {
	if !p.quiet {
		arrivals := p.result.arrivals(coalesce)
		arrivals.Losses = append(arrivals.Losses, loss)
	}
}

// copyKeys returns keys that stay when the next record comes; nil if there is none.
func copyKeys(keys []barrier.Token) []barrier.Token { return append([]barrier.Token(nil), keys...) }
