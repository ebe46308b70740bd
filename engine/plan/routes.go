package plan

import (
	"waymark/pipeline"
)

func (c *compiler) connectRoutes(i int) {
	step := &c.doc.Pipeline.Steps[i]
	node := &c.plan.Nodes[c.index[step.Name]]
	for _, route := range step.Routes {
		path := pipeline.Key(stepPath(i)+".routes", route.Name)
		if route.Name == "" {
			c.problem(path, "an empty label would look like none on record: name it in the gate, as in row.a == '' ? 'none' : row.a")
		}
		to := Target{Node: None}
		switch route.Value {
		case pipeline.Discard:
			to.Word = pipeline.Discard
		case "": // after a problem
			continue
		case pipeline.Continue:
			to.Node = None // filled in when it is known who takes the gate's rows
		default:
			to.Node = c.routeTo(step.Name, route.Value, path)
		}
		node.Routes = append(node.Routes, Route{Label: route.Name, To: to})
	}
}

func (c *compiler) routeTo(gate, name, path string) int {
	position, known := c.index[name]
	_, isBranch := c.branches[name]
	switch {
	case c.unclear(name):
		c.misname()
		return None
	case isBranch:
		c.misname()
		c.problem(path, "%q is a branch, which takes the rows of its fork alone; a gate sends rows to a sink or a later step", name)
		return None
	case !known:
		c.misname()
		c.problem(path, "no sink or step named %q%s", name, c.meant(name, Sink, Step))
		return None
	case c.plan.Nodes[position].Kind == Source:
		c.problem(path, "%q is a source; nothing can be sent there", name)
		c.doubt.edges = true
		return None
	case position <= c.index[gate]:
		c.problem(path, "%q comes before %q; a gate sends rows to a sink or a later step", name, gate)
		c.doubt.edges = true
		return None
	}
	return position
}

// misname notes that a route or policy leads to a node that is not known. It may be any that nothing else leads to.
func (c *compiler) misname() { c.doubt.misnamed, c.doubt.edges = true, true }

// finishRoutes leads the routes that continue to whatever takes the gate's rows.
func (c *compiler) finishRoutes() {
	for i := range c.plan.Nodes {
		node := &c.plan.Nodes[i]
		for r := range node.Routes {
			if route := &node.Routes[r]; node.Operation == Gate && route.To.Node == None && continuesBy(node.Spec, route.Label) {
				c.finishContinue(node, route)
			}
		}
	}
}

func (c *compiler) finishContinue(node *Node, route *Route) {
	route.To.Node = node.Next
	if node.Next == None && !c.doubt.edges {
		c.problem(pipeline.Key(node.Path+".routes", route.Label), "continue leads nowhere: no step or sink takes the rows of %q", node.Name)
	}
}

// onlyRouted reports whether a step without from gets its rows by gates' routes alone: nothing comes from the step before,
// which is a fork or a gate none of whose labels continues, and some gate leads here.
func (c *compiler) onlyRouted(name string, before []string) bool {
	if len(before) == 0 {
		return false
	}
	previous := &c.plan.Nodes[c.index[before[0]]]
	if previous.Operation != Fork && (previous.Operation != Gate || continues(previous.Spec)) {
		return false
	}
	for i := range c.doc.Pipeline.Steps {
		if routesTo(&c.doc.Pipeline.Steps[i], name) {
			return true
		}
	}
	return false
}

// continuesBy reports whether rows with the label go on to whatever takes the gate's rows.
func continuesBy(step *pipeline.Step, label string) bool {
	to, _ := step.Routes.Get(label)
	return to == pipeline.Continue
}

func continues(step *pipeline.Step) bool { return routesTo(step, pipeline.Continue) }

// routesTo reports whether one of a gate's routes leads to this name or word.
func routesTo(step *pipeline.Step, name string) bool {
	for _, route := range step.Routes {
		if route.Value == name {
			return true
		}
	}
	return false
}
