package activities

import (
	"waymark/barrier"
	"waymark/engine"
	"waymark/landscape"
	"waymark/plan"
)

// joinOf puts what a coalesce decided about the rows of a chunk into the landscape's words.
func joinOf(p *plan.Plan, join engine.LaneJoin) landscape.LaneJoin {
	out := landscape.LaneJoin{Lane: int64(join.Lane), Codes: join.Codes}
	for _, decided := range join.Decisions {
		out.Kinds = append(out.Kinds, KindOf(p, p.Lanes[join.Lane].Node, decided.Decision))
	}
	return out
}

// KindOf puts a decision of a coalesce into the landscape's words.
func KindOf(p *plan.Plan, node int, decision barrier.Decision) landscape.MergeKind {
	join := p.Nodes[node].Join
	kind := landscape.MergeKind{
		Node: p.Nodes[node].Name, Policy: join.Policy.Word, Merge: join.Merge.Word, Quorum: int64(join.Policy.Quorum), Timeout: join.Timeout,
		Expected: join.Branches, Arrived: branchNames(join, decision.Arrived), NotNeeded: branchNames(join, decision.NotNeeded),
		FiredBy: decision.FiredBy, Collisions: decision.Collisions, Result: landscape.MergeMerged,
	}
	for _, lost := range decision.Lost {
		kind.Lost = append(kind.Lost, landscape.LostBranch{Branch: join.Branches[lost.Branch], Reason: lost.Reason})
	}
	for _, origin := range decision.Origins {
		kind.Origins = append(kind.Origins, landscape.FieldOrigin{Field: origin.Field, Branch: join.Branches[origin.Branch]})
	}
	switch {
	case decision.Nothing:
		kind.Result = landscape.MergeNothing
	case decision.Refused != nil:
		kind.Result, kind.Code = landscape.MergeRefused, decision.Refused.Code
	}
	return kind
}

func branchNames(join *plan.Join, branches []int) []string {
	names := make([]string, len(branches))
	for i, b := range branches {
		names[i] = join.Branches[b]
	}
	return names
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
	if join := p.Nodes[lane.Node].Join; join != nil {
		out.Fork = p.Nodes[join.Fork].Name
	}
	return out
}
