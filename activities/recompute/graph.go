package recompute

import (
	"waymark/engine/plan"
	"waymark/landscape"
)

// TablesOf puts the plan's lookup tables into the landscape's words.
func TablesOf(run string, compiled *plan.Plan) []landscape.LookupTable {
	var tables []landscape.LookupTable
	for i := range compiled.Nodes {
		if table := compiled.Nodes[i].Table; table != nil {
			tables = append(tables, landscape.LookupTable{
				Run: run, Node: compiled.Nodes[i].Name, Path: table.Path, SHA256: table.SHA256, Bytes: int64(len(table.Content)), Rows: table.Rows,
			})
		}
	}
	return tables
}

// Graph puts the plan's nodes, edges, origins, lanes and policies into the landscape's words. What sources hold is left out.
func Graph(run string, compiled *plan.Plan) landscape.Graph {
	description := compiled.Describe()
	var graph landscape.Graph
	for i, node := range description.Nodes {
		graph.Nodes = append(graph.Nodes, landscape.Node{
			Run: run, Node: node.Name, Seq: int64(i), Kind: landscape.NodeKind(node.Kind), Operation: node.Operation,
			Config: string(node.Config), Determinism: node.Determinism, Guarantee: node.Guarantee, Hashes: landscape.HashMode(node.Hashes),
		})
	}
	for _, edge := range description.Edges {
		graph.Edges = append(graph.Edges, landscape.Edge{Run: run, From: edge.From, Kind: landscape.EdgeKind(edge.Kind), Label: edge.Label, To: edge.To})
	}
	for _, origin := range compiled.Origins() {
		graph.Sources = append(graph.Sources, landscape.Source{Run: run, Source: compiled.Nodes[origin].Name, Info: "{}"})
	}
	for i := range compiled.Lanes {
		graph.Lanes = append(graph.Lanes, laneOf(run, compiled, i))
	}
	for i, policy := range description.Policies {
		graph.Policies = append(graph.Policies, landscape.PolicyRecord{
			Run: run, Policy: policy.Name, Seq: int64(i), Assertion: policy.Assert, Gate: policy.Gate,
		})
	}
	return graph
}

// laneOf puts a lane of the plan into the landscape's words.
func laneOf(run string, p *plan.Plan, number int) landscape.Lane {
	lane := &p.Lanes[number]
	out := landscape.Lane{Run: run, Lane: int64(number), Source: p.Nodes[lane.Origin].Name, Name: lane.Name, Branch: lane.Branch}
	if lane.Parent == plan.None {
		return out
	}
	parent := int64(lane.Parent)
	out.Parent, out.Node, out.Fork = &parent, p.Nodes[lane.Node].Name, p.Nodes[lane.Node].Name
	if coalescing := p.Nodes[lane.Node].Coalescing; coalescing != nil {
		out.Fork = p.Nodes[coalescing.Fork].Name
	}
	return out
}
