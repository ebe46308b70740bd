package plan

// Branch is one open fork: the branch of it that a token went down.
type Branch struct {
	Fork     int    // node
	Name     string // of the branch
	Coalesce int    // the coalesce that merges branches of the fork, which need not expect this one; None if none does
}

// Lane is one kind of token of a pass, which is what happens to one chunk of an origin: the record itself, the copy of a
// token that a fork sent down a branch, or what a coalesce made of branches. A pass has at most one token for each record
// and lane.
//
// Lanes are numbered over the whole plan: by origin in node order, within one depth first: the root lane; then for each
// fork, in node order, the lanes of its branches in declared order, each followed by what comes of it, and the lane of
// the coalesce over them. This is the order in which the tokens of one record reach sinks.
type Lane struct {
	Origin  int      // node: a source or a barrier
	Parent  int      // the lane in which the fork was executed; None for a root lane
	Node    int      // the fork or the coalesce that makes its tokens; None for a root lane
	Branch  string   // of a fork's lane
	Name    string   // what follows source:row/ in the ids of its tokens, such as by_cost/deep; "" for a root lane
	Context []Branch // the open forks of its tokens, outermost first

	Forks  map[int][]int // fork that is executed in this lane → the lanes of its branches, in order
	Merged map[int]int   // fork that is executed in this lane → the lane of the coalesce over it in this pass, if there is one
}

// Origins returns the indexes of the nodes from which tokens come: the sources, then the barriers, in node order.
func (p *Plan) Origins() []int {
	origins := p.Sources()
	for i := range p.Nodes {
		if p.Nodes[i].Barrier {
			origins = append(origins, i)
		}
	}
	return origins
}

// RootLane returns the number of the lane of an origin's own records.
func (p *Plan) RootLane(origin int) int {
	for i := range p.Lanes {
		if p.Lanes[i].Origin == origin && p.Lanes[i].Parent == None {
			return i
		}
	}
	panic("plan: " + p.Nodes[origin].Name + " is no origin")
}
