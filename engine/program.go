package engine

import (
	"fmt"

	"waymark/engine/plan"
)

// program is the plan, ready to run. Only memory that its vertices and totals use again changes while it runs.
type program struct {
	plan     *plan.Plan
	vertices []vertex // by node
	branches []int    // by lane: the number of the innermost open fork's branch at its coalesce; plan.None: it has none
	roots    []int    // by node: the root lane of an origin
	totals   *totals  // nil if the plan has none

	claimings    [][]claiming // by node
	deduplicates bool         // not only fields of sources must be unique
}

func newProgram(p *plan.Plan) (program, error) {
	made := program{plan: p, roots: make([]int, len(p.Nodes)), totals: newTotals(p)}
	for i := range p.Nodes {
		v, err := newVertex(p, i)
		if err != nil {
			return program{}, fmt.Errorf("%s: %w", p.Nodes[i].Name, err)
		}
		made.vertices = append(made.vertices, v)
	}
	made.prepareClaims()
	for _, origin := range p.Origins() {
		made.roots[origin] = p.RootLane(origin)
	}
	for lane := range p.Lanes {
		made.branches = append(made.branches, branchOf(p, p.Lanes[lane].Context))
	}
	return made, nil
}

// depth returns how many forks are open at most around a token.
func (p *program) depth() (most int) {
	for lane := range p.plan.Lanes {
		most = max(most, len(p.plan.Lanes[lane].Context))
	}
	return most
}

// branchOf returns which of the branches that a coalesce expects the innermost open fork's is.
func branchOf(p *plan.Plan, context []plan.Branch) int {
	if len(context) == 0 || context[len(context)-1].Coalesce == plan.None {
		return plan.None
	}
	innermost := context[len(context)-1]
	for b, name := range p.Nodes[innermost.Coalesce].Coalescing.Branches {
		if name == innermost.Name {
			return b
		}
	}
	return plan.None
}
