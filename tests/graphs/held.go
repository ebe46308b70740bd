package graphs

import "waymark/pipeline"

// held is a coalesce whose branches come in several turns. It is a barrier: the merged rows have turns of their own.
type held struct {
	in      *interpreter
	node    *node
	entries map[string]*coalescing // by the id of the forked token; an entry stays until every branch came or is lost
	order   []*coalescing
}

// accept takes what a turn brought. All that arrives counts as earlier than all that is lost.
func (h *held) accept(events []event) settlement {
	var s settlement
	for _, e := range events {
		if e.lost == nil {
			of := e.token.open[len(e.token.open)-1]
			h.hear(&s, of, func(j *coalescing) { h.in.note(e.token, h.node, j.arrive(of.branch, e.token)) })
		}
	}
	for _, e := range events {
		if e.lost != nil {
			h.hear(&s, e.lost.openBranch, func(j *coalescing) { j.lose(e.lost.branch, e.lost.reason) })
		}
	}
	return s
}

// hear lets one thing happen to an entry, and settles the entry if that decides it.
func (h *held) hear(s *settlement, of openBranch, happen func(*coalescing)) {
	j := h.entry(of)
	before := j.decided
	happen(j)
	if j.decided && !before {
		h.settle(s, j)
	}
}

func (h *held) entry(of openBranch) *coalescing {
	key := of.parent.id()
	if h.entries[key] == nil {
		fork := h.in.graph.byName[h.in.graph.forkOf[of.branch]]
		h.entries[key] = newCoalescing(h.node.step, fork.step.Fork, of.parent)
		h.order = append(h.order, h.entries[key])
	}
	return h.entries[key]
}

// settle sends out the merged row. If there is none, the branch for which the forked token stood is lost.
func (h *held) settle(s *settlement, j *coalescing) {
	merge := j.merge(h.node)
	merge.Held = true
	h.in.result.Merges = append(h.in.result.Merges, merge)
	if merge.Result != resultNothing {
		s.outs = append(s.outs, birth{row: j.row, refused: j.refused, parents: j.tokens(), open: j.parent.open, merge: merge})
		return
	}
	if open := j.parent.open; len(open) > 0 {
		s.lost = append(s.lost, &loss{open[len(open)-1], pipeline.ForkParent})
	}
}

// end has nothing left to do: the branches of every entry came, or are lost, in the turns of nodes before this one.
func (h *held) end() settlement {
	for _, j := range h.order {
		if !j.accounted() {
			panic("graphs: " + h.node.name + " still waits for branches of " + j.parent.id())
		}
	}
	return settlement{}
}
