package plan

import (
	"fmt"
	"slices"
	"strings"
)

// maxContexts limits by how many combinations of branches rows may reach one node.
const maxContexts = 64

// arrival is one way in which tokens reach a node: with which forks open, and how many of them, innermost, were executed
// since the tokens' origin. A branch whose fork was executed before arrives in a pass of its own.
type arrival struct {
	context []Branch
	fresh   int
}

func (a arrival) key() string {
	var b strings.Builder
	for _, branch := range a.context {
		fmt.Fprintf(&b, "%d %s ", branch.Fork, branch.Name)
	}
	fmt.Fprint(&b, a.fresh)
	return b.String()
}

// flow is what one edge carries.
type flow struct {
	from int
	ways []arrival // distinct
}

// followContexts finds out, for each node in order, which forks are open where tokens reach it. It says what is a barrier
// and which coalesces are held, and rejects branches that never meet.
func (c *compiler) followContexts() {
	c.incoming = make([][]flow, len(c.plan.Nodes))
	for i := range c.plan.Nodes {
		if ways := c.ways(i); len(ways) <= maxContexts {
			c.pass(i, ways)
		} else {
			node := &c.plan.Nodes[i]
			c.problem(node.Path, "rows reach %q by more than %d combinations of branches: join branches before rows are copied again", node.Name, maxContexts)
			c.doubt.edges = true
		}
	}
}

// ways returns the distinct ways in which tokens reach the node.
func (c *compiler) ways(node int) []arrival {
	var all []arrival
	for _, edge := range c.incoming[node] {
		all = addWays(all, edge.ways)
	}
	return all
}

func addWays(to, ways []arrival) []arrival {
	for _, way := range ways {
		if !slices.ContainsFunc(to, func(other arrival) bool { return other.key() == way.key() }) {
			to = append(to, way)
		}
	}
	return to
}

// pass sends on what reaches the node, as it leaves it.
func (c *compiler) pass(i int, ways []arrival) {
	node := &c.plan.Nodes[i]
	switch {
	case node.Kind == Source:
		ways = []arrival{{}}
	case node.Operation == Fork:
		c.passFork(i, ways)
		return
	case node.Operation == Coalesce:
		ways = c.passCoalesce(i, ways)
	case isBarrier(node):
		ways = c.passBarrier(node, ways)
	}
	for _, next := range node.successors() {
		c.send(i, next, ways)
	}
}

// send notes what an edge carries. The branches of a fork that lead to one node share an edge.
func (c *compiler) send(from, to int, ways []arrival) {
	edges := c.incoming[to]
	if last := len(edges) - 1; last >= 0 && edges[last].from == from {
		edges[last].ways = addWays(edges[last].ways, ways)
		return
	}
	c.incoming[to] = append(edges, flow{from, ways})
}

func (c *compiler) passFork(fork int, ways []arrival) {
	for _, route := range c.plan.Nodes[fork].Routes {
		var down []arrival
		for _, way := range ways {
			context := c.open(way.context, fork, route.Label)
			down = append(down, arrival{context, way.fresh + len(context) - len(way.context)})
		}
		if route.To.Node != None {
			c.send(fork, route.To.Node, down)
		}
	}
}

// open returns the context of a token that went down a branch. Where nothing waits for the branches, of this fork or of one
// around it, none is open.
func (c *compiler) open(context []Branch, fork int, name string) []Branch {
	coalesce, coalesced := c.coalesced[fork]
	if !coalesced {
		coalesce = None
	}
	if !coalesced && len(context) == 0 {
		return nil
	}
	return append(slices.Clip(slices.Clone(context)), Branch{fork, name, coalesce})
}

// isBarrier reports whether the node is a barrier by its operation. Coalesces are by their place.
func isBarrier(node *Node) bool {
	switch node.Operation {
	case Aggregate, Sort, Expand:
		return true
	case Deduplicate:
		return node.Spec.Deduplicate != nil && node.Spec.Deduplicate.Keep == KeepLast
	}
	return false
}

// keeps reports whether the rows that come out of the barrier go on for the tokens that went in.
func keeps(node *Node) bool {
	switch node.Operation {
	case Aggregate:
		return node.Spec.Aggregate != nil && node.Spec.Aggregate.Mode == ModePassthrough
	case Expand:
		return false
	}
	return true
}

func (c *compiler) passBarrier(node *Node, ways []arrival) []arrival {
	node.Barrier, node.Keeps = true, keeps(node)
	if !node.Keeps {
		return []arrival{{}}
	}
	return c.leaveBarrier(node, ways)
}

// leaveBarrier returns how rows leave a barrier that continues for the tokens that went in: with one context, which is the
// barrier's, and in passes of their own.
func (c *compiler) leaveBarrier(node *Node, ways []arrival) []arrival {
	if len(ways) == 0 {
		return nil
	}
	node.Context = ways[0].context
	for _, way := range ways[1:] {
		if !slices.Equal(way.context, node.Context) {
			c.problem(node.Path, "%q gathers rows of %s and rows of %s, which nothing could tell apart after it: give each a step of its own, or join them first",
				node.Name, c.contextText(node.Context), c.contextText(way.context))
			c.doubt.edges = true
			return nil
		}
	}
	return []arrival{{context: node.Context}}
}

// contextText names a context by its innermost branch.
func (c *compiler) contextText(context []Branch) string {
	if len(context) == 0 {
		return "no branch"
	}
	inner := context[len(context)-1]
	text := fmt.Sprintf("branch %q", inner.Name)
	for _, outer := range slices.Backward(context[:len(context)-1]) {
		text += fmt.Sprintf(" in %q", outer.Name)
	}
	return text
}

// passCoalesce checks that exactly the branches that the coalesce merges reach it, and returns how merged rows leave it.
func (c *compiler) passCoalesce(i int, ways []arrival) []arrival {
	node := &c.plan.Nodes[i]
	if node.Coalescing == nil { // after a problem
		c.doubt.edges = true
		return nil
	}
	before := len(c.problems)
	var left []arrival
	var met []string
	for _, way := range ways {
		last := len(way.context) - 1
		if !c.belongs(node, way) {
			continue
		}
		met = append(met, way.context[last].Name)
		node.Coalescing.Held = node.Coalescing.Held || way.fresh == 0
		left = addWays(left, []arrival{{way.context[:last:last], max(way.fresh-1, 0)}})
	}
	if !c.checkArriving(i, met) {
		c.checkStrangers(i)
	}
	if len(c.problems) == before && !c.doubt.edges {
		c.checkNamed(i)
	}
	if len(c.problems) > before {
		c.doubt.edges = true
		return nil
	}
	if len(left) == 0 {
		return nil
	}
	if node.Coalescing.Held {
		node.Barrier = true
		return c.leaveBarrier(node, left)
	}
	return left
}
