package engine

import (
	"crypto/sha256"

	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// Event is what happened to one token at one node.
type Event struct {
	Lane     int
	Node     int
	Before   row.Row           // as the row came in; zero at the origin, and where branches became one row
	After    row.Row           // as it went out; zero if it was rejected
	Label    string            // by which it went out; "" for nodes without labels
	Decision *barrier.Decision // of a coalesce in this pass, about the row that it made or rejected
	Rejected *plugin.Rejection
	Encoded  []byte // at a sink: the bytes written for it, or the row as JSON if bytes are made of a whole part
}

// Hash returns the SHA-256 of the canonical form of the row that went out.
func (e Event) Hash() [32]byte { return sha256.Sum256(row.AppendCanonical(nil, e.After)) }

// Explain returns the sub-expressions of the gate or filter with their values for the row, outermost first; nil for
// nodes without such an expression.
func Explain(node *plan.Node, in row.Row) []expr.Part {
	if node.Operation != plan.Gate && node.Operation != plan.Filter || node.Kind != plan.Step || in.Shape == nil {
		return nil
	}
	return node.Exprs[0].Explain(in)
}

// Story is what happened to one record in a pass.
type Story struct {
	Events []Event   // in order; rows in them are clones
	Ways   []LaneWay // of its tokens, in lane order
}

// LaneWay is the way of the token of one lane.
type LaneWay struct {
	Lane int
	Way
}

// Trace sends one record of the chunk through the graph, by the same code as Run, and tells its story. The error is as
// for Run; the story then ends where the row was rejected.
func (r *Runner) Trace(in Input, i int) (Story, error) {
	p, err := r.begin(in)
	if err != nil {
		return Story{}, err
	}
	var story Story
	p.watch = func(e Event) { story.Events = append(story.Events, e.clone()) }
	p.token.record = i
	for len(p.bad) > 0 && p.bad[0].Index < i {
		p.bad = p.bad[1:]
	}
	if err := p.traceRecord(); err != nil {
		return story, err
	}
	for lane, routes := range p.result.routes {
		if routes != nil && routes.codes[i] != NoToken {
			story.Ways = append(story.Ways, LaneWay{lane, routes.list(r.vertices)[routes.codes[i]]})
		}
	}
	return story, nil
}

func (p *pass) traceRecord() (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			_, err = p.confine(p.roots[p.in.Origin], cause)
		}
	}()
	return p.runRecord(string(p.in.Chunk.Record(p.token.record)))
}

func (e Event) clone() Event {
	e.Before, e.After = clone(e.Before), clone(e.After)
	e.Encoded = append([]byte(nil), e.Encoded...)
	if e.Decision != nil {
		decision := e.Decision.Clone()
		e.Decision = &decision
	}
	return e
}

func clone(r row.Row) row.Row {
	if r.Shape == nil {
		return r
	}
	return r.Clone()
}
