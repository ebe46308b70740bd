package plan

// maxLanes limits the kinds of tokens of a plan.
const maxLanes = 256

// addLanes lists the kinds of tokens, in the order that Lane says.
func (c *compiler) addLanes() {
	for _, origin := range c.plan.Origins() {
		node := &c.plan.Nodes[origin]
		c.addLane(Lane{Origin: origin, Parent: None, Node: None, Context: node.Context}, node.successors())
	}
	if len(c.plan.Lanes) > maxLanes {
		c.problem("steps", "sources, branches, coalesces and barriers make more than %d kinds of rows: join branches before rows are copied again", maxLanes)
	}
}

// addLane adds a lane whose tokens begin at one of these nodes, and the lanes of everything that comes of them. It returns
// the lane's number. One lane beyond the limit is added and no more.
func (c *compiler) addLane(lane Lane, starts []int) int {
	number := len(c.plan.Lanes)
	if number > maxLanes {
		return number
	}
	c.plan.Lanes = append(c.plan.Lanes, lane)
	c.hashes[lane.Origin] += c.plan.hashesOf(lane, starts)
	for _, fork := range c.plan.forksFrom(starts) {
		c.addForkLanes(number, fork)
	}
	return number
}

// addForkLanes adds the lanes of a fork's branches, and that of what a coalesce makes of them in the same pass.
func (c *compiler) addForkLanes(parent, fork int) {
	lane := c.plan.Lanes[parent]
	var branches []int
	for _, route := range c.plan.Nodes[fork].Routes {
		branches = append(branches, c.addLane(Lane{
			Origin: lane.Origin, Parent: parent, Node: fork, Branch: route.Label, Name: laneName(lane.Name, route.Label),
			Context: c.open(lane.Context, fork, route.Label),
		}, []int{route.To.Node}))
	}
	c.plan.Lanes[parent].noteFork(fork, branches)
	coalesce, coalesced := c.coalesced[fork]
	if !coalesced || c.plan.Nodes[coalesce].Barrier {
		return
	}
	node := &c.plan.Nodes[coalesce]
	c.plan.Lanes[parent].noteMerged(fork, c.addLane(Lane{
		Origin: lane.Origin, Parent: parent, Node: coalesce, Name: laneName(lane.Name, node.Name), Context: lane.Context,
	}, node.successors()))
}

func (l *Lane) noteFork(fork int, branches []int) {
	if l.Forks == nil {
		l.Forks = map[int][]int{}
	}
	l.Forks[fork] = branches
}

func (l *Lane) noteMerged(fork, lane int) {
	if l.Merged == nil {
		l.Merged = map[int]int{}
	}
	l.Merged[fork] = lane
}

func laneName(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "/" + name
}

// forksFrom returns the forks, in node order, that tokens reach which begin at one of these nodes.
func (p *Plan) forksFrom(starts []int) []int {
	var forks []int
	for i, ok := range p.reachedFrom(starts) {
		if ok && p.Nodes[i].Operation == Fork {
			forks = append(forks, i)
		}
	}
	return forks
}

// reachedFrom returns, by node, whether tokens reach it which begin at one of these nodes. They end at sinks and barriers,
// at forks and at coalesces; what comes of them there are other tokens.
func (p *Plan) reachedFrom(starts []int) []bool {
	reached := make([]bool, len(p.Nodes))
	for _, start := range starts {
		reached[start] = true
	}
	for i := range p.Nodes {
		node := &p.Nodes[i]
		if !reached[i] || node.Barrier || node.Operation == Fork || node.Operation == Coalesce {
			continue
		}
		for _, next := range node.successors() {
			reached[next] = true
		}
	}
	return reached
}
