package engine

import (
	"waymark/engine/barrier"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// labelEmpty is the way out of a barrier for a row that has nothing to expand.
const labelEmpty = 0

// hold leaves the current token at a barrier.
func (r *Runner) hold(i int, current row.Row) (pipeline.Path, error) {
	v := &r.vertices[r.at]
	kept, empty, rejected := v.intake.Take(current)
	switch {
	case rejected != nil:
		return r.reject(i, r.at, rejected)
	case empty:
		r.way = r.result.ways.step(r.way, r.at, labelEmpty, r.lane)
		r.see(Event{Lane: r.lane, Node: r.at, Before: current, After: current, Label: v.label(labelEmpty)})
		r.end(i, pipeline.FilterDropped, "")
		return pipeline.FilterDropped, nil
	}
	r.way = r.result.ways.step(r.way, r.at, noLabel, r.lane)
	r.see(Event{Lane: r.lane, Node: r.at, Before: current, After: current})
	r.end(i, pipeline.Buffered, "")
	if !r.quiet {
		arrivals := r.result.arrivals(r.at)
		arrivals.List = append(arrivals.List, barrier.Arrival{
			Token: barrier.Token{Lane: r.lane, Row: r.chunk.FirstRow + int64(i)}, Branch: max(r.branches[r.lane], 0),
			Keys: r.copyKeys(r.keys), Row: kept,
		})
	}
	return v.consumed, nil
}
