package engine

import (
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// follow takes the current token from node to node, beginning at the one given, until it ends. lost is the path by which a
// coalesce that waits for the token lost it: "" if it arrived there, or still may.
func (r *Runner) follow(i, node int, current row.Row) (lost pipeline.Path, err error) {
	for r.at = node; ; {
		v := &r.vertices[r.at]
		switch v.role {
		case sinkRole:
			return r.deliver(i, current)
		case forkRole:
			return r.fork(i, current)
		case coalesceRole:
			return r.arrive(current)
		case barrierRole:
			return r.hold(i, current)
		}
		out, label, rejected := v.op.apply(current)
		if v.role == claimRole {
			if label, err = r.claimed(i, current); err != nil {
				return "", err
			}
		}
		if rejected != nil {
			return r.reject(i, r.at, rejected)
		}
		r.way = r.result.ways.step(r.way, r.at, label, r.lane)
		r.see(Event{Lane: r.lane, Node: r.at, Before: current, After: out, Label: v.label(label)})
		if v.changes {
			r.noteHash(i, r.at, out)
			r.totals.pass(r.at, r.way.seq, out)
		}
		next, ended := v.exit(label)
		if ended != "" {
			r.end(i, ended, "")
			return ended, nil
		}
		r.at, current = next, out
	}
}

// deliver encodes the row for the sink that has it.
func (r *Runner) deliver(i int, current row.Row) (pipeline.Path, error) {
	path := pipeline.DefaultFlow
	if r.way.label != noLabel && r.vertices[r.way.node].exits[r.way.label].routed {
		path = pipeline.GateRouted
	}
	if r.quiet {
		return path, nil
	}
	part := &r.result.Parts[r.at]
	data, err := r.vertices[r.at].encoder.Append(part.Data, current)
	if err != nil {
		return r.reject(i, r.at, rejection(err))
	}
	r.way = r.result.ways.step(r.way, r.at, noLabel, r.lane)
	r.see(Event{Lane: r.lane, Node: r.at, Before: current, After: current, Encoded: r.written(r.at, data[len(part.Data):], current)})
	part.Data = data
	part.Rows++
	if shown := r.vertices[r.at].shown; shown != nil {
		r.result.fieldsOf(r.lane, r.at).add(i, shown, current)
	}
	r.end(i, path, r.plan.Nodes[r.at].Name)
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
func (r *Runner) end(i int, path pipeline.Path, sentTo string) {
	r.totals.end(r.result.end(i, r.lane, r.way, path, sentTo))
	if at := (At{r.lane, i}); r.in.Late[at] {
		r.result.late(at, r.totals.last())
	}
}

// branch follows a token that a fork or a coalesce made, from its first node on. A defect that it meets ends it alone.
func (r *Runner) branch(i, lane, node int, current row.Row) (lost pipeline.Path, err error) {
	r.lane = lane
	defer func() {
		if cause := recover(); cause != nil {
			lost, err = r.confine(i, lane, cause)
		}
	}()
	return r.follow(i, node, current)
}

// written returns what an event tells of the bytes that a sink gets for a row. Where bytes are only made of all rows of a part,
// it is the row as JSON.
func (r *Runner) written(sink int, encoded []byte, current row.Row) []byte {
	if _, ok := r.vertices[sink].encoder.(plugin.Finisher); ok && r.watch != nil {
		return row.AppendJSON(nil, current)
	}
	return encoded
}
