package plan

import (
	"waymark/pipeline"
)

func stepPath(i int) string { return pipeline.Item("steps", i) }

// connect resolves from, branches, routes and error policies to nodes, and rejects graphs in which rows would have no way,
// two ways, or a way back.
func (c *compiler) connect() {
	c.connectSteps()
	c.connectPolicies()
	c.connectSinks()
	c.checkReach()
}

func (c *compiler) connectSteps() {
	before := c.sourceNames()
	for i := range c.doc.Pipeline.Steps {
		step := &c.doc.Pipeline.Steps[i]
		switch {
		case step.Coalesce != nil:
			c.connectCoalesce(i)
		case len(step.From) > 0:
			c.takesAll(step.Name, step.From, stepPath(i)+".from")
		case c.doubt.defaults || !c.doc.SoundItself(stepPath(i)) || !c.doc.Sound(stepPath(i)+".from"):
			c.doubtRows(step.Name)
		case !c.onlyRouted(step.Name, before):
			c.takesEach(step.Name, before, stepPath(i))
		}
		before = []string{step.Name}
	}
	for i := range c.doc.Pipeline.Steps {
		c.connectRoutes(i)
	}
}

func (c *compiler) sourceNames() []string {
	var names []string
	for _, entry := range c.doc.Pipeline.Sources {
		names = append(names, entry.Name)
	}
	return names
}

// takesAll connects the rows of all that from names to the node. The path is that of from in the document.
func (c *compiler) takesAll(name string, from pipeline.Names, path string) {
	if len(from) == 1 {
		c.takes(name, from[0], path)
		return
	}
	for k, one := range from {
		c.takes(name, one, pipeline.Item(path, k))
	}
}

// takesEach connects the rows of nodes that the document does not name here: the path is that of the node itself.
func (c *compiler) takesEach(name string, from []string, path string) {
	for _, one := range from {
		c.takes(name, one, path)
	}
}

// takes connects from's rows, a node's or a branch's, to the node.
func (c *compiler) takes(name, from, path string) {
	position, known := c.index[from]
	branch, isBranch := c.branches[from]
	if isBranch {
		position = branch.fork
	}
	switch {
	case c.unclear(from):
		c.doubtRows(name)
	case !known && !isBranch:
		c.edgeProblem(name, path, "no source or step named %q%s", from, c.meantFlow(from))
	case c.plan.Nodes[position].Kind == Sink:
		c.edgeProblem(name, path, "%q is a sink; rows end there", from)
	case position >= c.index[name]:
		c.edgeProblem(name, path, "%q comes later than %q; a step takes rows from a node before it", c.plan.Nodes[position].Name, name)
	case isBranch:
		c.lead(&c.plan.Nodes[position].Routes[branch.route].To.Node, name, from, path)
	case c.plan.Nodes[position].Operation == Fork && len(c.plan.Nodes[position].Spec.Fork) == 0:
		c.doubtRows(name)
	case c.plan.Nodes[position].Operation == Fork:
		c.edgeProblem(name, path, "the rows of %q go down its branches: take those of one with `from: %s`", from, c.plan.Nodes[position].Spec.Fork[0])
	default:
		c.lead(&c.plan.Nodes[position].Next, name, from, path)
	}
}

// edgeProblem reports that the node does not get rows as the document says.
func (c *compiler) edgeProblem(name, path, format string, args ...any) {
	c.problem(path, format, args...)
	c.doubtRows(name)
}

// lead sets where the rows of from go, which is one place.
func (c *compiler) lead(next *int, name, from, path string) {
	if *next != None {
		c.edgeProblem(name, path, "%q and %q both take the rows of %q, and a row goes one way; let one take them from the other, divide them with a gate, or copy them with a fork",
			c.plan.Nodes[*next].Name, name, from)
		return
	}
	*next = c.index[name]
}

// connectSinks lets a sink that nothing else feeds take the rows of the last node. Where a route or policy names a sink that
// is not there, one of these may be meant, and nothing is said of them.
func (c *compiler) connectSinks() {
	fed := c.fedSinks()
	for _, entry := range c.doc.Pipeline.Sinks {
		path := pipeline.Key("sinks", entry.Name)
		switch {
		case len(entry.Value.From) > 0:
			c.takesAll(entry.Name, entry.Value.From, path+".from")
		case fed[entry.Name]:
		case c.doubt.misnamed || c.doubt.defaults || !c.doc.SoundItself(path) || !c.doc.Sound(path+".from"):
			c.doubtRows(entry.Name)
		default:
			c.takesEach(entry.Name, c.lastNodes(), path)
		}
	}
	c.finishRoutes()
}

// lastNodes returns the last step, or the sources of a document without steps.
func (c *compiler) lastNodes() []string {
	if steps := c.doc.Pipeline.Steps; len(steps) > 0 {
		return []string{steps[len(steps)-1].Name}
	}
	return c.sourceNames()
}

// fedSinks returns the sinks that a route or an error policy names.
func (c *compiler) fedSinks() map[string]bool {
	fed := map[string]bool{}
	for _, entry := range c.doc.Pipeline.Sources {
		fed[entry.Value.OnInvalid] = true
	}
	for _, step := range c.doc.Pipeline.Steps {
		fed[step.OnError] = true
		for _, route := range step.Routes {
			fed[route.Value] = true
		}
	}
	return fed
}
