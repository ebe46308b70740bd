package engine

import (
	"waymark/expr"
	"waymark/pipeline"
	"waymark/plan"
	"waymark/plugin"
	"waymark/row"
)

// operator is what a step does to a row. out may share memory that the next call reuses; label is the index of the way
// out, noLabel for steps with only one.
type operator interface {
	apply(in row.Row) (out row.Row, label int, refused *plugin.Rejection)
}

// vertex is a node of the plan, ready to run.
type vertex struct {
	op      operator       // of a step
	encoder plugin.Encoder // of a sink
	changes bool
	next    int
	exits   []exit // by label; nil for nodes without labels
}

type exit struct {
	label  string // as the document has it; "" for the ways out of a filter
	to     int
	ended  pipeline.Path // not "" if rows end here
	routed bool          // a gate sends rows to a place of its own choice
}

// The ways out of a filter.
const (
	labelKept = iota
	labelDropped
)

func newVertex(node *plan.Node) (vertex, error) {
	v := vertex{changes: node.Changes(), next: node.Next}
	switch {
	case node.Kind == plan.Source:
	case node.Kind == plan.Sink:
		return sinkVertex(node)
	case node.Operation == plan.Filter:
		v.op = &filter{node.Exprs[0]}
		v.exits = []exit{labelKept: {to: node.Next}, labelDropped: {ended: pipeline.FilterDropped}}
	case node.Operation == plan.Gate:
		v.op = newGate(node)
		v.exits = gateExits(node)
	default:
		v.op = newTransform(node)
	}
	return v, nil
}

func sinkVertex(node *plan.Node) (vertex, error) {
	encoder, err := node.Encoder()
	return vertex{encoder: encoder, next: plan.None}, err
}

func gateExits(node *plan.Node) []exit {
	exits := make([]exit, len(node.Routes))
	for i, route := range node.Routes {
		exits[i] = exit{label: route.Label, to: route.To.Node, routed: node.Spec.Routes[i].Value != pipeline.Continue}
		if route.To.Word == pipeline.Discard {
			exits[i].ended = pipeline.GateDiscarded
		}
	}
	return exits
}

// exit returns where rows with the label go, or how they end.
func (v *vertex) exit(label int) (next int, ended pipeline.Path) {
	if label == noLabel {
		return v.next, ""
	}
	return v.exits[label].to, v.exits[label].ended
}

func (v *vertex) label(label int) string {
	if label == noLabel {
		return ""
	}
	return v.exits[label].label
}

// filter keeps the rows for which an expression is true.
type filter struct{ keep *expr.Program }

func (f *filter) apply(in row.Row) (row.Row, int, *plugin.Rejection) {
	value, err := f.keep.Eval(in)
	if err != nil {
		return in, noLabel, evalRejection(err)
	}
	if value.Bool() {
		return in, labelKept, nil
	}
	return in, labelDropped, nil
}

// gate sends rows by the value of an expression.
type gate struct {
	choose  *expr.Program
	labels  map[string]int
	yes, no int // the labels "true" and "false", or the default
	other   int // the default label; noLabel if the gate has none
}

func newGate(node *plan.Node) *gate {
	g := &gate{choose: node.Exprs[0], labels: map[string]int{}, other: noLabel}
	for i, route := range node.Routes {
		g.labels[route.Label] = i
		if route.Label == plan.DefaultLabel {
			g.other = i
		}
	}
	g.yes, g.no = g.find("true"), g.find("false")
	return g
}

func (g *gate) find(label string) int {
	if i, found := g.labels[label]; found {
		return i
	}
	return g.other
}

func (g *gate) apply(in row.Row) (row.Row, int, *plugin.Rejection) {
	value, err := g.choose.Eval(in)
	if err != nil {
		return in, noLabel, evalRejection(err)
	}
	label := g.no
	switch {
	case value.Kind() == row.String:
		label = g.find(value.Text())
	case value.Bool():
		label = g.yes
	}
	if label == noLabel {
		return in, noLabel, &plugin.Rejection{Code: CodeUnrouted, Message: "no route for the label " + quote(value)}
	}
	return in, label, nil
}
