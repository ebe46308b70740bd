package engine

import (
	"waymark/engine/barrier"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// token is the token that a pass follows. A fork keeps the forked one while the pass follows the copies.
type token struct {
	record int // of the chunk
	lane   int
	at     int             // the node that has it
	way    *wayNode        // up to the last node that it left; nil if it has left none
	keys   []barrier.Token // of the open forks, outermost first
}

// id names the current token.
func (p *pass) id() barrier.Token { return barrier.Token{Lane: p.token.lane, Row: p.row()} }

// row returns the number of the current record in its source.
func (p *pass) row() int64 { return p.in.Chunk.FirstRow + int64(p.token.record) }

// step continues the way of the current token through its node.
func (p *pass) step(label int) {
	p.token.way = p.result.ways.step(p.token.way, p.token.at, label, p.token.lane)
}

// follow takes the current token from node to node, beginning at the one given, until it ends. lost is the path by
// which a coalesce that waits for the token lost it: "" if it arrived there, or still may.
func (p *pass) follow(node int, current row.Row) (lost pipeline.Path, err error) {
	for p.token.at = node; ; {
		v := &p.vertices[p.token.at]
		switch v.role {
		case sinkRole:
			return p.deliver(current)
		case forkRole:
			return p.fork(current)
		case coalesceRole:
			return p.arrive(current)
		case barrierRole:
			return p.hold(current)
		}
		out, label, rejected := v.op.apply(current)
		if rejected != nil {
			return p.reject(rejected)
		}
		if v.role == claimRole {
			if label, err = p.claimed(current); err != nil {
				return "", err
			}
		}
		p.step(label)
		if p.watch != nil {
			p.watch(Event{Lane: p.token.lane, Node: p.token.at, Before: current, After: out, Label: v.label(label)})
		}
		if v.changes {
			p.noteHash(out, v.op.(*transform).current.change)
			p.totals.pass(p.token.at, p.token.way.seq, out)
		}
		next, ended := v.exit(label)
		if ended != "" {
			p.end(ended, "")
			return ended, nil
		}
		p.token.at, current = next, out
	}
}

// deliver encodes the row for the sink that has it.
func (p *pass) deliver(current row.Row) (pipeline.Path, error) {
	path := pipeline.DefaultFlow
	if way := p.token.way; way.label != noLabel && p.vertices[way.node].exits[way.label].routed {
		path = pipeline.GateRouted
	}
	if p.quiet {
		return path, nil
	}
	sink := p.token.at
	part := &p.result.Parts[sink]
	data, err := p.vertices[sink].encoder.Append(part.Data, current)
	if err != nil {
		return p.reject(rejection(err))
	}
	p.step(noLabel)
	if p.watch != nil {
		encoded := p.written(sink, data[len(part.Data):], current)
		p.watch(Event{Lane: p.token.lane, Node: sink, Before: current, After: current, Encoded: encoded})
	}
	part.add(data, current)
	if shown := p.vertices[sink].shown; shown != nil {
		p.result.fieldsOf(&p.token).add(p.token.record, shown, current)
	}
	p.end(path, p.plan.Nodes[sink].Name)
	return path, nil
}

// add adds the values of fields of a row.
func (c *FieldColumn) add(i int, names []string, current row.Row) {
	c.Rows = append(c.Rows, i)
	for _, name := range names {
		if value, found := current.Get(name); found {
			c.Values = row.AppendValue(c.Values, value)
		}
		c.Ends = append(c.Ends, len(c.Values))
	}
}

// end ends the current token.
func (p *pass) end(path pipeline.Path, sentTo string) {
	p.totals.end(p.result.end(&p.token, path, sentTo))
	if at := (At{p.token.lane, p.token.record}); p.in.Late[at] {
		p.result.late(at, p.totals.last())
	}
}

// branch follows a token that a fork or a coalesce made, from its first node on. A defect that it meets ends it alone.
func (p *pass) branch(lane, node int, current row.Row) (lost pipeline.Path, err error) {
	p.token.lane = lane
	p.scratch.hasher.Forget()
	defer func() {
		if cause := recover(); cause != nil {
			lost, err = p.confine(lane, cause)
		}
	}()
	return p.follow(node, current)
}

// written returns what an event tells of the bytes that a sink gets for a row. Where bytes are only made of all rows of
// a part, it is the row as JSON.
func (p *pass) written(sink int, encoded []byte, current row.Row) []byte {
	if _, ok := p.vertices[sink].encoder.(plugin.Finisher); ok {
		return row.AppendJSON(nil, current)
	}
	return encoded
}
