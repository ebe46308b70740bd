package engine

import (
	"waymark/engine/barrier"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// labelEmpty is the way out of a barrier for a row that has nothing to expand.
const labelEmpty = 0

// hold leaves the current token at a barrier.
func (p *pass) hold(current row.Row) (pipeline.Path, error) {
	v := &p.vertices[p.token.at]
	kept, empty, rejected := v.intake.Take(current)
	switch {
	case rejected != nil:
		return p.reject(rejected)
	case empty:
		p.step(labelEmpty)
		p.see(Event{Lane: p.token.lane, Node: p.token.at, Before: current, After: current, Label: v.label(labelEmpty)})
		p.end(pipeline.FilterDropped, "")
		return pipeline.FilterDropped, nil
	}
	p.step(noLabel)
	p.see(Event{Lane: p.token.lane, Node: p.token.at, Before: current, After: current})
	p.end(pipeline.Buffered, "")
	if !p.quiet {
		arrivals := p.result.arrivals(p.token.at)
		arrivals.List = append(arrivals.List, barrier.Arrival{
			Token: p.id(), Branch: max(p.branches[p.token.lane], 0), Keys: copyKeys(p.token.keys), Row: kept,
		})
	}
	return v.consumed, nil
}
