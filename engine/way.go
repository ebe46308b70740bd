package engine

import (
	"waymark/pipeline"
)

// noLabel stands for the only way out of a node that has no labels.
const noLabel = -1

// wayNode is one step of the ways that tokens of a chunk took: a tree, so that a token's whole way so far is one
// pointer.
type wayNode struct {
	parent   *wayNode
	node     int
	label    int
	lane     int // in which the step was done
	seq      int // its number on the way
	children []*wayNode
	ends     []wayEnd
}

type wayEnd struct {
	path   pipeline.Path
	sentTo string
	code   uint16
}

// ways are the steps of one chunk. A branch continues from the way of the token that was forked, a merged row starts
// over.
type ways struct {
	roots [][]*wayNode // by lane
}

// step returns the way that continues from parent through the node by the label; a nil parent begins a way.
func (w *ways) step(parent *wayNode, node, label, lane int) *wayNode {
	siblings := &w.roots[lane]
	if parent != nil {
		siblings = &parent.children
	}
	for _, child := range *siblings {
		if child.node == node && child.label == label && child.lane == lane {
			return child
		}
	}
	child := &wayNode{parent: parent, node: node, label: label, lane: lane}
	if parent != nil {
		child.seq = parent.seq + 1
	}
	*siblings = append(*siblings, child)
	return child
}

// routes numbers the ways of one lane in the order in which tokens first ended them.
type routes struct {
	codes []uint16
	done  []endedWay
}

type endedWay struct {
	last   *wayNode
	path   pipeline.Path
	sentTo string
	rows   int
	sums   []WaySum
}

func newRoutes(rows int) *routes { return &routes{codes: noTokens(rows)} }

// end counts one token that ends here and returns the number of its way.
func (r *routes) end(last *wayNode, path pipeline.Path, sentTo string) uint16 {
	for _, end := range last.ends {
		if end.path == path && end.sentTo == sentTo {
			r.done[end.code].rows++
			return end.code
		}
	}
	code := uint16(len(r.done))
	last.ends = append(last.ends, wayEnd{path, sentTo, code})
	r.done = append(r.done, endedWay{last: last, path: path, sentTo: sentTo, rows: 1})
	return code
}

// Way is the whole route of the tokens that took it.
type Way struct {
	Steps  []Step // from the origin, or the coalesce that made the token, to a sink that got the rows; never empty
	First  int    // number of the first step that is the token's own: those before it are the forked token's
	Path   pipeline.Path
	SentTo string // the sink that got the rows, pipeline.QuarantineSink, pipeline.DiscardSink, or ""
	Rows   int
	Sums   []WaySum // by step and total; nil if the plan has no totals
}

// Step is one node of a way, with the label by which rows left it; "" for nodes without labels. Of a fork whose branch
// the token is, the label is the branch.
type Step struct {
	Node  int
	Label string
	Lane  int // of the token that did the step
}

func (r *routes) list(vertices []vertex) []Way {
	list := make([]Way, len(r.done))
	for i, ended := range r.done {
		steps := stepsTo(ended.last, vertices)
		way := Way{Steps: steps, Path: ended.path, SentTo: ended.sentTo, Rows: ended.rows, Sums: ended.sums}
		for s, step := range way.Steps {
			if vertices[step.Node].role == forkRole && step.Label != "" {
				way.First = s + 1
			}
		}
		list[i] = way
	}
	return list
}

func stepsTo(last *wayNode, vertices []vertex) []Step {
	if last == nil {
		return nil
	}
	step := Step{Node: last.node, Label: vertices[last.node].label(last.label), Lane: last.lane}
	return append(stepsTo(last.parent, vertices), step)
}
