package plan

// Stage is what one kind of activity does.
type Stage struct {
	Activity string   `json:"activity"`
	Nodes    []string `json:"nodes"`
}

// stages returns what is done to a chunk, in order: of a source it is read and processed; what reaches a barrier is folded,
// and what comes out is processed in turn.
func (p *Plan) stages() []Stage {
	var stages []Stage
	for _, i := range p.Sources() {
		stages = append(stages, Stage{"read", []string{p.Nodes[i].Name}})
	}
	for _, origin := range p.Origins() {
		if p.Nodes[origin].Barrier {
			stages = append(stages, Stage{"fold", []string{p.Nodes[origin].Name}})
		}
		stages = append(stages, p.process(origin))
	}
	for _, i := range p.Sinks() {
		stages = append(stages, Stage{"write", []string{p.Nodes[i].Name}})
	}
	for _, i := range p.Sinks() {
		stages = append(stages, Stage{"publish", []string{p.Nodes[i].Name}})
	}
	return stages
}

// process returns the stage of an origin's chunks: the origin and the steps that its tokens, and what a pass makes of them,
// go through.
func (p *Plan) process(origin int) Stage {
	visited := make([]bool, len(p.Nodes))
	visited[origin] = true
	for i := range p.Nodes {
		if node := &p.Nodes[i]; visited[i] && (i == origin || !node.Barrier) {
			for _, next := range node.successors() {
				visited[next] = true
			}
		}
	}
	stage := Stage{Activity: "process"}
	for i := range p.Nodes {
		if node := &p.Nodes[i]; visited[i] && node.Kind != Sink && (i == origin || !node.Barrier) {
			stage.Nodes = append(stage.Nodes, node.Name)
		}
	}
	return stage
}

// LaneDescription is one kind of token.
type LaneDescription struct {
	Origin string `json:"origin"`         // the source or barrier
	Name   string `json:"name,omitempty"` // as in the ids of its tokens; "" for the origin's own records
}

// describeLanes returns the lanes in order, or nil if every token is a record of a source.
func (p *Plan) describeLanes() []LaneDescription {
	if len(p.Lanes) == len(p.Sources()) {
		return nil
	}
	var lanes []LaneDescription
	for i := range p.Lanes {
		lanes = append(lanes, LaneDescription{p.Nodes[p.Lanes[i].Origin].Name, p.Lanes[i].Name})
	}
	return lanes
}
