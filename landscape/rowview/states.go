package rowview

import (
	"encoding/binary"

	"waymark/landscape"
	"waymark/pipeline"
)

func (c *chunk) stateRows(t *token, yield yield) bool {
	if t.way == nil {
		return true
	}
	w := t.way
	var before any // the hash with which the token came
	for _, s := range w.steps {
		after := before
		if s.Seq == 0 && s.node.Kind == landscape.SourceNode {
			before = c.rawHash(t)
		}
		if s.node.Hashes != landscape.InputHashes && (!w.failed() || s.Node != w.LastNode) {
			after = c.ownHash(t, s)
		}
		if s.own {
			left := after
			if s.node.Kind == landscape.SinkNode || s.Node == w.LastNode && (w.failed() || w.taken()) {
				left = nil
			}
			c.out = append(c.out[:0], c.id, c.source, t.number, t.Lane.Lane, s.Seq, t.id, c.number,
				s.Node, string(s.node.Kind), s.Label, t.status(s), before, left)
			if !yield(c.out) {
				return false
			}
		}
		before = after
	}
	return true
}

// ownHash returns the hash of a token as it left a node that has hashes.
func (c *chunk) ownHash(t *token, s step) any {
	if s.node.Hashes == landscape.RecordHashes {
		return c.rawHash(t)
	}
	slices, slice, at := c.hashes[place{s.Lane, s.Node}], t.index/landscape.SliceRows, t.index%landscape.SliceRows
	if slice >= len(slices) || slices[slice] == nil {
		return nil
	}
	h := slices[slice]
	if h.Slots == nil {
		return hashAt(h.Hashes, at)
	}
	if 2*at+2 > len(h.Slots) {
		return nil
	}
	return hashAt(h.Hashes, int(binary.BigEndian.Uint16(h.Slots[2*at:]))-1)
}

// status returns what became of a token at a node.
func (t *token) status(s step) string {
	switch {
	case s.Node == t.refusedBy || t.way.failed() && s.Node == t.way.LastNode:
		return "failed"
	case s.node.Kind == landscape.SinkNode && t.completed == 0:
		return "open"
	case s.Node == t.way.barrier() && t.completed == 0:
		return "held"
	default:
		return "completed"
	}
}

func (c *chunk) routeRows(t *token, yield yield) bool {
	if t.way == nil {
		return true
	}
	w := t.way
	for i, s := range w.steps {
		if !s.own {
			continue
		}
		if pipeline.Path(w.Path) == pipeline.ForkParent && s.Node == w.LastNode && len(c.routes[s.Node]) > 0 {
			for _, e := range c.routes[s.Node] {
				if !c.routeRow(t, s, e.Label, e.To, "branch", yield) {
					return false
				}
			}
			continue
		}
		to := t.next(i)
		if to != "" && !c.routeRow(t, s, s.Label, to, t.kind(s), yield) {
			return false
		}
	}
	return true
}

// next returns where a token went from step number i; "" if it ended there, and was not refused or discarded.
func (t *token) next(i int) string {
	w := t.way
	s := w.steps[i]
	switch {
	case i+1 < len(w.steps):
		return w.steps[i+1].Node
	case s.Node == t.refusedBy:
		return pipeline.Quarantine
	case s.Node != w.LastNode || w.taken():
		return ""
	}
	switch {
	case pipeline.Path(w.Path) == pipeline.FilterDropped || pipeline.Path(w.Path) == pipeline.ForkParent:
		return ""
	case w.Sink == pipeline.QuarantineSink:
		return pipeline.Quarantine
	default:
		return pipeline.Discard
	}
}

// kind returns why a token went from a node to the next.
func (t *token) kind(s step) string {
	switch {
	case s.Node == t.refusedBy || t.way.failed() && s.Node == t.way.LastNode:
		return "error"
	case s.node.Operation == "gate":
		return "route"
	default:
		return "flow"
	}
}

func (c *chunk) routeRow(t *token, s step, label, to, kind string, yield yield) bool {
	c.out = append(c.out[:0], c.id, c.source, t.number, t.Lane.Lane, s.Seq, t.id, s.Node, label, to, kind)
	return yield(c.out)
}
