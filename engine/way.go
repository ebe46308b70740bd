package engine

import (
	"waymark/pipeline"
)

// noLabel stands for the only way out of a node that has no labels.
const noLabel = -1

// wayNode is one step of the ways that rows of a chunk took: a tree, so that a row's whole way so far is one pointer.
type wayNode struct {
	parent   *wayNode
	node     int
	label    int
	children []*wayNode
	ends     []wayEnd
}

type wayEnd struct {
	path   pipeline.Path
	sentTo string
	code   uint16
}

// ways numbers the ways of one chunk in the order in which rows first ended them.
type ways struct {
	roots []*wayNode
	ended []endedWay
}

type endedWay struct {
	last   *wayNode
	path   pipeline.Path
	sentTo string
	rows   int
}

// step returns the way that goes on from parent through the node by the label; a nil parent begins a way.
func (w *ways) step(parent *wayNode, node, label int) *wayNode {
	siblings := &w.roots
	if parent != nil {
		siblings = &parent.children
	}
	for _, child := range *siblings {
		if child.node == node && child.label == label {
			return child
		}
	}
	child := &wayNode{parent: parent, node: node, label: label}
	*siblings = append(*siblings, child)
	return child
}

// end counts one row that ends here and returns the number of its way.
func (w *ways) end(last *wayNode, path pipeline.Path, sentTo string) uint16 {
	for _, end := range last.ends {
		if end.path == path && end.sentTo == sentTo {
			w.ended[end.code].rows++
			return end.code
		}
	}
	code := uint16(len(w.ended))
	last.ends = append(last.ends, wayEnd{path, sentTo, code})
	w.ended = append(w.ended, endedWay{last, path, sentTo, 1})
	return code
}

// Way is the whole route of the rows that took it.
type Way struct {
	Steps  []Step // from the source on; never empty; a sink that got the rows is the last
	Path   pipeline.Path
	SentTo string // the sink that got the rows, pipeline.QuarantineSink, pipeline.DiscardSink, or ""
	Rows   int
}

// Step is one node of a way, with the label by which rows left it; "" for nodes without labels.
type Step struct {
	Node  int
	Label string
}

func (w *ways) list(vertices []vertex) []Way {
	list := make([]Way, len(w.ended))
	for i, ended := range w.ended {
		list[i] = Way{Steps: stepsTo(ended.last, vertices), Path: ended.path, SentTo: ended.sentTo, Rows: ended.rows}
	}
	return list
}

func stepsTo(last *wayNode, vertices []vertex) []Step {
	if last == nil {
		return nil
	}
	return append(stepsTo(last.parent, vertices), Step{Node: last.node, Label: vertices[last.node].label(last.label)})
}
