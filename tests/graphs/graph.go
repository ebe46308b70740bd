package graphs

import (
	"slices"

	"waymark/pipeline"
)

// graph says for each node who takes its rows.
type graph struct {
	nodes    []*node // sources, steps, sinks, each in document order
	byName   map[string]*node
	next     map[string]string // source, step or branch → node that takes its rows
	forkOf   map[string]string // branch → fork
	coalesce map[string]string // fork → coalesce over it
	held     map[string]bool   // coalesces whose branches may come in different turns
	rows     int               // of a chunk
}

// node is a source, a step or a sink.
type node struct {
	name    string
	source  bool
	step    *pipeline.Step // nil of sources and sinks
	refused string         // where refused rows go: a reserved word or a sink
}

func (n *node) sink() bool { return !n.source && n.step == nil }

// making reports whether the rows that come out of the node are new ones.
func (n *node) making() bool {
	return n.step != nil && (n.step.Expand != nil || n.step.Aggregate != nil && n.step.Aggregate.Mode != "passthrough")
}

// keeping reports whether each row that comes out of the node continues for one that went in, later.
func (n *node) keeping() bool {
	s := n.step
	return s != nil && (s.Sort != nil || s.Aggregate != nil && s.Aggregate.Mode == "passthrough" ||
		s.Deduplicate != nil && s.Deduplicate.Keep == "last")
}

// gathers reports whether tokens end in the node and new ones come out of it in later turns.
func (g *graph) gathers(n *node) bool { return n.making() || n.keeping() || g.held[n.name] }

// defaultRows is the number of rows of a chunk if the document does not say it.
const defaultRows = 32_768

func newGraph(doc *pipeline.Document) *graph {
	g := &graph{byName: map[string]*node{}, next: map[string]string{}, forkOf: map[string]string{},
		coalesce: map[string]string{}, held: map[string]bool{}, rows: doc.Pipeline.Chunk.Rows}
	if g.rows == 0 {
		g.rows = defaultRows
	}
	g.addNodes(&doc.Pipeline)
	g.connectSteps(&doc.Pipeline)
	g.connectSinks(&doc.Pipeline)
	g.findHeld()
	return g
}

func (g *graph) addNodes(p *pipeline.Pipeline) {
	add := func(n *node) {
		if n.refused == "" {
			n.refused = pipeline.Quarantine
		}
		g.nodes = append(g.nodes, n)
		g.byName[n.name] = n
	}
	for _, source := range p.Sources {
		add(&node{name: source.Name, source: true, refused: source.Value.OnInvalid})
	}
	for i := range p.Steps {
		add(&node{name: p.Steps[i].Name, step: &p.Steps[i], refused: p.Steps[i].OnError})
		for _, branch := range p.Steps[i].Fork {
			g.forkOf[branch] = p.Steps[i].Name
		}
	}
	for _, sink := range p.Sinks {
		add(&node{name: sink.Name})
	}
}

// connectSteps lets each step take the rows of those that it names, or of the step before.
func (g *graph) connectSteps(p *pipeline.Pipeline) {
	for i := range p.Steps {
		step := &p.Steps[i]
		for _, entry := range step.Coalesce {
			g.next[entry.Value] = step.Name
			g.coalesce[g.forkOf[entry.Name]] = step.Name
		}
		for _, from := range g.takesFrom(p, i) {
			g.next[from] = step.Name
		}
	}
}

// takesFrom returns whose rows the step takes by flow. A step after a gate that never continues is reached by routes.
func (g *graph) takesFrom(p *pipeline.Pipeline, i int) []string {
	step := &p.Steps[i]
	switch {
	case step.Coalesce != nil || len(step.From) > 0:
		return step.From
	case i == 0:
		return sourceNames(p)
	case p.Steps[i-1].Gate != "" && !continues(&p.Steps[i-1]), p.Steps[i-1].Fork != nil:
		return nil
	}
	return []string{p.Steps[i-1].Name}
}

func sourceNames(p *pipeline.Pipeline) []string {
	var names []string
	for _, source := range p.Sources {
		names = append(names, source.Name)
	}
	return names
}

func continues(gate *pipeline.Step) bool {
	return slices.ContainsFunc(gate.Routes, func(r pipeline.Named[string]) bool { return r.Value == pipeline.Continue })
}

// connectSinks does the same for sinks. A sink that a route or a policy names needs no rows by flow.
func (g *graph) connectSinks(p *pipeline.Pipeline) {
	named := map[string]bool{}
	for _, n := range g.nodes {
		named[n.refused] = true
		if n.step != nil {
			for _, route := range n.step.Routes {
				named[route.Value] = true
			}
		}
	}
	for _, sink := range p.Sinks {
		from := sink.Value.From
		if len(from) == 0 && !named[sink.Name] {
			from = g.last(p)
		}
		for _, name := range from {
			g.next[name] = sink.Name
		}
	}
}

func (g *graph) last(p *pipeline.Pipeline) []string {
	if len(p.Steps) == 0 {
		return sourceNames(p)
	}
	return []string{p.Steps[len(p.Steps)-1].Name}
}

// findHeld finds the coalesces one of whose branches may wait in a barrier. Inner ones come before outer ones.
func (g *graph) findHeld() {
	for _, n := range g.nodes {
		if n.step == nil || n.step.Coalesce == nil {
			continue
		}
		for _, entry := range n.step.Coalesce {
			if g.mayWait(g.next[entry.Name], n.name) {
				g.held[n.name] = true
			}
		}
	}
}

// mayWait reports whether a token on its way to the coalesce may come to a barrier that makes it go on later.
func (g *graph) mayWait(at, coalesce string) bool {
	n := g.byName[at]
	switch {
	case at == coalesce || n == nil || n.sink() || n.making():
		return false
	case n.keeping() || g.held[at]:
		return true
	}
	return slices.ContainsFunc(g.after(n), func(to string) bool { return g.mayWait(to, coalesce) })
}

// after returns where a token that stands for a branch may go next. Of a fork these are the branches that its coalesce
// expects: without one, nothing that comes of the fork stands for the branch any more.
func (g *graph) after(n *node) []string {
	var to []string
	if n.step.Fork != nil {
		for _, branch := range n.step.Fork {
			if joined := g.byName[g.coalesce[n.name]]; joined != nil && expects(joined.step, branch) {
				to = append(to, g.next[branch])
			}
		}
		return to
	}
	for _, route := range n.step.Routes {
		to = append(to, route.Value)
	}
	return append(to, g.next[n.name])
}

func expects(coalesce *pipeline.Step, branch string) bool {
	_, expected := coalesce.Coalesce.Get(branch)
	return expected
}
