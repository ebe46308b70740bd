package recompute

import (
	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/landscape"
)

// mergesOf puts what a coalesce decided about the rows of a chunk into the landscape's words.
func mergesOf(p *plan.Plan, coalescing engine.LaneMerges) landscape.LaneMerges {
	out := landscape.LaneMerges{Lane: int64(coalescing.Lane), Codes: coalescing.Codes}
	for _, decided := range coalescing.Decisions {
		out.Kinds = append(out.Kinds, KindOf(p, p.Lanes[coalescing.Lane].Node, decided.Decision))
	}
	return out
}

// KindOf puts a decision of a coalesce into the landscape's words.
func KindOf(p *plan.Plan, node int, decision barrier.Decision) landscape.MergeKind {
	coalescing := p.Nodes[node].Coalescing
	kind := landscape.MergeKind{
		Node: p.Nodes[node].Name, Policy: coalescing.Policy.Word, Merge: coalescing.Merge.Word, Quorum: int64(coalescing.Policy.Quorum), Timeout: coalescing.Timeout,
		Expected: coalescing.Branches, Arrived: branchNames(coalescing, decision.Arrived), NotNeeded: branchNames(coalescing, decision.NotNeeded),
		FiredBy: decision.FiredBy, Collisions: decision.Collisions, Result: landscape.MergeMerged,
	}
	for _, lost := range decision.Lost {
		kind.Lost = append(kind.Lost, landscape.LostBranch{Branch: coalescing.Branches[lost.Branch], Reason: lost.Reason})
	}
	for _, origin := range decision.Origins {
		kind.Origins = append(kind.Origins, landscape.FieldOrigin{Field: origin.Field, Branch: coalescing.Branches[origin.Branch]})
	}
	switch {
	case decision.Nothing:
		kind.Result = landscape.MergeNothing
	case decision.Rejected != nil:
		kind.Result, kind.Code = landscape.MergeRejected, decision.Rejected.Code
	}
	return kind
}

func branchNames(coalescing *plan.Coalescing, branches []int) []string {
	names := make([]string, len(branches))
	for i, b := range branches {
		names[i] = coalescing.Branches[b]
	}
	return names
}
