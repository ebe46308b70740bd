package engine

import (
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
	"waymark/pipeline/schema"
	"waymark/plugin"
)

// operator is what a step does to a row. out may share memory that the next call reuses; label is the index of the way
// out, noLabel for steps with only one.
type operator interface {
	apply(in row.Row) (out row.Row, label int, rejected *plugin.Rejection)
}

// role says which code takes the rows that come to a vertex.
type role uint8

const (
	stepRole     role = iota // an operator
	sinkRole                 // an encoder
	forkRole                 // copies go down the branches
	coalesceRole             // the branches of this pass meet
	barrierRole              // tokens end and wait
	claimRole                // an operator that lets one token of each key pass
)

// vertex is a node of the plan, ready to run.
type vertex struct {
	role    role
	op      operator       // of a step
	encoder plugin.Encoder // of a sink
	layout  schema.Layout  // of a sink
	shown   []string       // fields of a sink that can be disclosed
	changes bool
	next    int
	exits   []exit // by label; nil for nodes without labels

	coalesce   int            // of a fork: the node over its branches; plan.None if there is none
	coalescing *passCoalesce  // of a coalesce whose branches meet in one pass
	intake     barrier.Intake // of a barrier
	consumed   pipeline.Path  // of a barrier: how a coalesce lost a token that is here; "" if the token may still come
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

func newVertex(p *plan.Plan, at int) (vertex, error) {
	node := &p.Nodes[at]
	v := vertex{changes: node.Changes(), next: node.Next, coalesce: plan.None}
	switch {
	case node.Kind == plan.Source:
	case node.Kind == plan.Sink:
		return sinkVertex(node)
	case node.Barrier:
		v.hold(node)
	default:
		err := v.step(p, at)
		return v, err
	}
	return v, nil
}

func (v *vertex) hold(node *plan.Node) {
	v.role, v.intake = barrierRole, barrier.NewIntake(node)
	switch {
	case node.Keeps || node.Coalescing != nil:
	case node.Operation == plan.Expand:
		v.consumed = pipeline.ExpandParent
		v.exits = []exit{labelEmpty: {label: "empty", ended: pipeline.FilterDropped}}
	default:
		v.consumed = pipeline.BatchConsumed
	}
}

func (v *vertex) step(p *plan.Plan, at int) (err error) {
	node := &p.Nodes[at]
	switch node.Operation {
	case plan.Filter:
		v.op = &filter{node.Exprs[0]}
		v.exits = []exit{labelKept: {to: node.Next}, labelDropped: {ended: pipeline.FilterDropped}}
	case plan.Sample:
		v.op = newSample(node.Spec.Sample)
		v.exits = []exit{
			labelKept:    {label: "kept", to: node.Next},
			labelDropped: {label: "dropped", ended: pipeline.FilterDropped},
		}
	case plan.Deduplicate:
		v.role, v.op, v.exits = claimRole, once{node.Spec.Deduplicate.Key}, onceExits(node.Next)
	case plan.Gate:
		v.op, v.exits = newGate(node), gateExits(node)
	case plan.Fork:
		v.role, v.exits, v.coalesce = forkRole, forkExits(node), coalesceOver(p, at)
	case plan.Coalesce:
		v.role, v.coalescing = coalesceRole, newPassCoalesce(at, node.Coalescing)
	default:
		v.op, err = newTransform(node)
	}
	return err
}

// coalesceOver returns the coalesce that merges the branches of a fork, or plan.None.
func coalesceOver(p *plan.Plan, fork int) int {
	for i := range p.Nodes {
		if coalescing := p.Nodes[i].Coalescing; coalescing != nil && coalescing.Fork == fork {
			return i
		}
	}
	return plan.None
}

func forkExits(node *plan.Node) []exit {
	exits := make([]exit, len(node.Routes))
	for i, route := range node.Routes {
		exits[i] = exit{label: route.Label, to: route.To.Node}
	}
	return exits
}

func sinkVertex(node *plan.Node) (vertex, error) {
	encoder, err := node.Encoder()
	if err != nil {
		return vertex{}, err
	}
	return vertex{
		role: sinkRole, encoder: encoder, layout: node.Layout(encoder), shown: node.Shown, next: plan.None, coalesce: plan.None,
	}, nil
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
		return in, noLabel, barrier.EvalRejection(err, "")
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
		return in, noLabel, barrier.EvalRejection(err, "")
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
