package graphs

import (
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// Why a coalesce decided, and what came of it. These are the landscape's words.
const (
	firedByAll    = "all"
	firedByQuorum = "quorum"
	firedByFirst  = "first"
	firedByLost   = "lost"

	resultMerged  = "merged"
	resultRefused = "refused"
	resultNothing = "nothing"
)

// coalescing is what a coalesce knows of one forked token.
type coalescing struct {
	step     *pipeline.Step
	parent   *token
	expected []string      // branches in declared order
	arrived  []branchToken // before the decision, in order of arrival
	lost     []LostOne     // before and after it
	late     int           // branches that arrived after it
	decided  bool
	gaveUp   bool
	decision Merge // what is known when it is decided

	row     row.Row  // what the decision made
	refused *Refusal // why the merged row is refused
}

type branchToken struct {
	branch string
	token  *token
}

// newCoalescing returns the join of the branches that the coalesce expects, in the order in which the fork declares them.
func newCoalescing(coalesce *pipeline.Step, declared []string, parent *token) *coalescing {
	c := &coalescing{step: coalesce, parent: parent}
	for _, branch := range declared {
		if expects(coalesce, branch) {
			c.expected = append(c.expected, branch)
		}
	}
	return c
}

// arrive takes the token of a branch, and returns how it ends.
func (c *coalescing) arrive(branch string, t *token) pipeline.Path {
	if c.decided {
		c.late++
		return pipeline.BranchNotNeeded
	}
	c.arrived = append(c.arrived, branchToken{branch, t})
	c.decide()
	return pipeline.Coalesced
}

// lose hears that nothing will come by a branch.
func (c *coalescing) lose(branch string, reason pipeline.Path) {
	c.lost = append(c.lost, LostOne{branch, reason})
	if !c.decided {
		c.decide()
	}
}

// accounted reports whether every branch came or is lost.
func (c *coalescing) accounted() bool { return len(c.arrived)+c.late+len(c.lost) == len(c.expected) }

// decide looks whether the policy has what it wants, or never will have it.
func (c *coalescing) decide() {
	firedBy, gaveUp := c.verdict()
	if firedBy == "" {
		return
	}
	c.decided, c.gaveUp, c.decision.FiredBy = true, gaveUp, firedBy
	for _, a := range c.arrived {
		c.decision.Arrived = append(c.decision.Arrived, Arrived{a.branch, a.token.id()})
	}
	for _, branch := range c.expected {
		lost := slices.IndexFunc(c.lost, func(l LostOne) bool { return l.Branch == branch })
		came := slices.ContainsFunc(c.arrived, func(a branchToken) bool { return a.branch == branch })
		switch {
		case lost >= 0:
			c.decision.Lost = append(c.decision.Lost, c.lost[lost])
		case !came:
			c.decision.NotNeeded = append(c.decision.NotNeeded, branch)
		}
	}
}

// verdict returns what decides, if something does, and whether the policy gives up. Nothing is decided before a branch came,
// unless all are lost.
func (c *coalescing) verdict() (firedBy string, gaveUp bool) {
	all, arrived, lost := len(c.expected), len(c.arrived), len(c.lost)
	if arrived == 0 {
		if lost == all {
			return firedByLost, false
		}
		return "", false
	}
	switch policyWord(c.step) {
	case pipeline.First:
		return firedByFirst, false
	case pipeline.Quorum:
		switch {
		case arrived >= c.step.Policy.Quorum:
			return firedByQuorum, false
		case all-lost < c.step.Policy.Quorum:
			return firedByLost, true
		}
	case pipeline.BestEffort:
		switch {
		case arrived == all:
			return firedByAll, false
		case arrived+lost == all:
			return firedByLost, false
		}
	default:
		switch {
		case arrived == all:
			return firedByAll, false
		case lost > 0:
			return firedByLost, true
		}
	}
	return "", false
}

// tokens returns what the merged row is made of.
func (c *coalescing) tokens() []*token {
	var tokens []*token
	for _, a := range c.arrived {
		tokens = append(tokens, a.token)
	}
	return tokens
}

// merge makes the row of a decision, and puts it on record.
func (c *coalescing) merge(n *node) *Merge {
	m := c.decision
	m.Node, m.Key, m.Policy, m.Expected, m.Result = n.name, c.parent.id(), policyWord(c.step), c.expected, resultMerged
	switch {
	case len(c.arrived) == 0:
		m.Result = resultNothing
		return &m
	case c.gaveUp:
		c.row, m.Collisions = union(c.inDeclaredOrder(), false)
		c.refused = &Refusal{Code: map[string]string{pipeline.RequireAll: codeIncomplete, pipeline.Quorum: codeQuorum}[m.Policy]}
	default:
		c.row, m.Collisions, c.refused = mergeRows(c.step, c.inDeclaredOrder())
	}
	if c.refused != nil {
		m.Result, m.Code = resultRefused, c.refused.Code
	}
	return &m
}

func (c *coalescing) inDeclaredOrder() []branchToken {
	list := slices.Clone(c.arrived)
	slices.SortFunc(list, func(a, b branchToken) int {
		return slices.Index(c.expected, a.branch) - slices.Index(c.expected, b.branch)
	})
	return list
}

func policyWord(step *pipeline.Step) string {
	if step.Policy.Word == "" {
		return pipeline.RequireAll
	}
	return step.Policy.Word
}
