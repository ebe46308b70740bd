package recompute

import (
	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/landscape"
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
