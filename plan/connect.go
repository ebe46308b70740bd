package plan

import (
	"fmt"
	"strings"

	"waymark/pipeline"
)

func stepPath(i int) string { return pipeline.Item("steps", i) }

// connect resolves from, routes and error policies to nodes, and refuses graphs in which rows would have no way, two
// ways, or a way back.
func (c *compiler) connect() {
	c.connectSteps()
	c.connectPolicies()
	c.connectSinks()
	if len(c.problems) == 0 {
		c.checkReach()
	}
}

func (c *compiler) connectSteps() {
	previous := ""
	for _, entry := range c.doc.Pipeline.Sources[:1] {
		previous = entry.Name
	}
	for i := range c.doc.Pipeline.Steps {
		step := &c.doc.Pipeline.Steps[i]
		from, path := step.From, stepPath(i)+".from"
		if from == "" {
			from, path = previous, stepPath(i)
		}
		if step.From != "" || !c.onlyRouted(step.Name, from) {
			c.takes(step.Name, from, path)
		}
		previous = step.Name
	}
	for i := range c.doc.Pipeline.Steps {
		c.connectRoutes(i)
	}
}

// onlyRouted reports whether a step without from gets its rows by gates' routes alone: the step before is a gate none of
// whose labels continues, and some gate leads here.
func (c *compiler) onlyRouted(name, before string) bool {
	gate := &c.plan.Nodes[c.index[before]]
	if gate.Operation != Gate || continues(gate.Spec) {
		return false
	}
	for _, step := range c.doc.Pipeline.Steps {
		for _, route := range step.Routes {
			if route.Value == name {
				return true
			}
		}
	}
	return false
}

func continues(step *pipeline.Step) bool {
	for _, route := range step.Routes {
		if route.Value == pipeline.Continue {
			return true
		}
	}
	return false
}

// takes connects from's rows to the node.
func (c *compiler) takes(name, from, path string) {
	position, known := c.index[from]
	switch {
	case !known:
		c.problem(path, "no source or step named %q%s", from, c.meant(from, Source, Step))
		return
	case c.plan.Nodes[position].Kind == Sink:
		c.problem(path, "%q is a sink; rows end there", from)
		return
	case position >= c.index[name]:
		c.problem(path, "%q comes later than %q; a step takes rows from a node before it", from, name)
		return
	}
	node := &c.plan.Nodes[position]
	if node.Next != None {
		c.problem(path, "%q and %q both take the rows of %q, and a row goes one way; let one take them from the other, or divide them with a gate",
			c.plan.Nodes[node.Next].Name, name, from)
		return
	}
	node.Next = c.index[name]
}

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
	switch {
	case !known:
		c.misnamed = true
		c.problem(path, "no sink or step named %q%s", name, c.meant(name, Sink, Step))
		return None
	case c.plan.Nodes[position].Kind == Source:
		c.problem(path, "%q is a source; nothing can be sent there", name)
		return None
	case position <= c.index[gate]:
		c.problem(path, "%q comes before %q; a gate sends rows to a sink or a later step", name, gate)
		return None
	}
	return position
}

// connectSinks lets a sink that nothing else feeds take the rows of the last node. Where a route or policy names a sink that
// is not there, one of these may be meant, and nothing is said of them.
func (c *compiler) connectSinks() {
	fed := c.fedSinks()
	for _, entry := range c.doc.Pipeline.Sinks {
		switch {
		case entry.Value.From != "":
			c.takes(entry.Name, entry.Value.From, pipeline.Key("sinks", entry.Name)+".from")
		case !fed[entry.Name] && !c.misnamed:
			c.takes(entry.Name, c.lastNode(), pipeline.Key("sinks", entry.Name))
		}
	}
	for i := range c.plan.Nodes {
		node := &c.plan.Nodes[i]
		for r := range node.Routes {
			if route := &node.Routes[r]; route.To.Node == None && route.To.Word == "" {
				c.finishContinue(node, route)
			}
		}
	}
}

func (c *compiler) finishContinue(node *Node, route *Route) {
	route.To.Node = node.Next
	if node.Next == None && len(c.problems) == 0 {
		c.problem(pipeline.Key(node.Path+".routes", route.Label), "continue leads nowhere: no step or sink takes the rows of %q", node.Name)
	}
}

func (c *compiler) lastNode() string {
	if steps := c.doc.Pipeline.Steps; len(steps) > 0 {
		return steps[len(steps)-1].Name
	}
	return c.doc.Pipeline.Sources[0].Name
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

func (c *compiler) connectPolicies() {
	for _, entry := range c.doc.Pipeline.Sources[:1] {
		c.policy(entry.Name, entry.Value.OnInvalid, pipeline.Key("sources", entry.Name)+".on_invalid")
	}
	for i, step := range c.doc.Pipeline.Steps {
		c.policy(step.Name, step.OnError, stepPath(i)+".on_error")
	}
	for _, i := range c.plan.Sinks() {
		c.plan.Nodes[i].OnError = Target{Node: None, Word: pipeline.Quarantine}
	}
}

func (c *compiler) policy(name, word, path string) {
	node := &c.plan.Nodes[c.index[name]]
	node.OnError = Target{Node: None, Word: word}
	switch word {
	case "":
		node.OnError.Word = pipeline.Quarantine
	case pipeline.Quarantine, pipeline.Fail, pipeline.Discard:
	default:
		position, known := c.index[word]
		if !known || c.plan.Nodes[position].Kind != Sink {
			c.misnamed = true
			c.problem(path, "no sink named %q%s; refused rows go to quarantine, fail, discard or a sink", word, c.meantPolicy(word))
			return
		}
		node.OnError = Target{Node: position}
		c.plan.Nodes[position].Errors = true
	}
}

// checkReach refuses nodes that no row reaches, rows that reach no end, and sinks that would get both rows and refusals.
func (c *compiler) checkReach() {
	reached := make([]bool, len(c.plan.Nodes))
	for i := range c.plan.Nodes {
		node := &c.plan.Nodes[i]
		if node.Kind == Source {
			reached[i] = true
		}
		if !reached[i] && !node.Errors {
			c.problem(node.Path, "no row ever reaches %q: give it a `from`, or a route that leads here", node.Name)
		}
		c.checkEnd(node)
		for _, next := range node.successors() {
			reached[next] = true
			if c.plan.Nodes[next].Errors {
				c.problem(c.plan.Nodes[next].Path, "%q gets refused rows (on_error, on_invalid) and the rows of %q; they have different fields, so use two sinks",
					c.plan.Nodes[next].Name, node.Name)
			}
		}
	}
}

func (c *compiler) checkEnd(node *Node) {
	if node.Kind == Sink || node.Next != None {
		if node.Operation == Gate && node.Kind == Step && !continues(node.Spec) {
			c.problem(node.Path, "%q takes the rows of the gate %q, but none of its routes continues", c.plan.Nodes[node.Next].Name, node.Name)
		}
		return
	}
	if node.Operation != Gate || node.Kind != Step {
		c.problem(node.Path, "the rows of %q go nowhere: let a sink take them with `from: %s`", node.Name, node.Name)
	}
}

// successors returns the nodes to which the node's edges lead, without refusals, without repeats.
func (n *Node) successors() []int {
	var next []int
	if n.Next != None && (n.Operation != Gate || n.Kind != Step) {
		next = append(next, n.Next)
	}
	seen := map[int]bool{}
	for _, route := range n.Routes {
		if route.To.Node != None && !seen[route.To.Node] {
			seen[route.To.Node] = true
			next = append(next, route.To.Node)
		}
	}
	return next
}

// meantPolicy returns ` (did you mean "x"?)` for the nearest sink or reserved word.
func (c *compiler) meantPolicy(word string) string {
	if nearest := pipeline.Nearest(word, []string{pipeline.Quarantine, pipeline.Fail, pipeline.Discard}); nearest != "" {
		return fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return c.meant(word, Sink)
}

// meant returns ` (did you mean "x"?)` for the nearest name of these kinds, or the list of them.
func (c *compiler) meant(name string, kinds ...Kind) string {
	var names []string
	for i := range c.plan.Nodes {
		for _, kind := range kinds {
			if c.plan.Nodes[i].Kind == kind {
				names = append(names, c.plan.Nodes[i].Name)
			}
		}
	}
	if nearest := pipeline.Nearest(name, names); nearest != "" {
		return fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	if len(names) == 0 {
		return ""
	}
	return " (there are: " + strings.Join(names, ", ") + ")"
}
