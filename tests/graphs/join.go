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

// join is what a coalesce knows of one forked token.
type join struct {
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

// newJoin returns the join of the branches that the coalesce expects, in the order in which the fork declares them.
func newJoin(coalesce *pipeline.Step, declared []string, parent *token) *join {
	j := &join{step: coalesce, parent: parent}
	for _, branch := range declared {
		if expects(coalesce, branch) {
			j.expected = append(j.expected, branch)
		}
	}
	return j
}

// arrive takes the token of a branch, and returns how it ends.
func (j *join) arrive(branch string, t *token) pipeline.Path {
	if j.decided {
		j.late++
		return pipeline.BranchNotNeeded
	}
	j.arrived = append(j.arrived, branchToken{branch, t})
	j.decide()
	return pipeline.Coalesced
}

// lose hears that nothing will come by a branch.
func (j *join) lose(branch string, reason pipeline.Path) {
	j.lost = append(j.lost, LostOne{branch, reason})
	if !j.decided {
		j.decide()
	}
}

// accounted reports whether every branch came or is lost.
func (j *join) accounted() bool { return len(j.arrived)+j.late+len(j.lost) == len(j.expected) }

// decide looks whether the policy has what it wants, or never will have it.
func (j *join) decide() {
	firedBy, gaveUp := j.verdict()
	if firedBy == "" {
		return
	}
	j.decided, j.gaveUp, j.decision.FiredBy = true, gaveUp, firedBy
	for _, a := range j.arrived {
		j.decision.Arrived = append(j.decision.Arrived, Arrived{a.branch, a.token.id()})
	}
	for _, branch := range j.expected {
		lost := slices.IndexFunc(j.lost, func(l LostOne) bool { return l.Branch == branch })
		came := slices.ContainsFunc(j.arrived, func(a branchToken) bool { return a.branch == branch })
		switch {
		case lost >= 0:
			j.decision.Lost = append(j.decision.Lost, j.lost[lost])
		case !came:
			j.decision.NotNeeded = append(j.decision.NotNeeded, branch)
		}
	}
}

// verdict returns what decides, if something does, and whether the policy gives up. Nothing is decided before a branch came,
// unless all are lost.
func (j *join) verdict() (firedBy string, gaveUp bool) {
	all, arrived, lost := len(j.expected), len(j.arrived), len(j.lost)
	if arrived == 0 {
		if lost == all {
			return firedByLost, false
		}
		return "", false
	}
	switch policyWord(j.step) {
	case pipeline.First:
		return firedByFirst, false
	case pipeline.Quorum:
		switch {
		case arrived >= j.step.Policy.Quorum:
			return firedByQuorum, false
		case all-lost < j.step.Policy.Quorum:
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
func (j *join) tokens() []*token {
	var tokens []*token
	for _, a := range j.arrived {
		tokens = append(tokens, a.token)
	}
	return tokens
}

// merge makes the row of a decision, and puts it on record.
func (j *join) merge(n *node) *Merge {
	m := j.decision
	m.Node, m.Key, m.Policy, m.Expected, m.Result = n.name, j.parent.id(), policyWord(j.step), j.expected, resultMerged
	switch {
	case len(j.arrived) == 0:
		m.Result = resultNothing
		return &m
	case j.gaveUp:
		j.row, m.Collisions = union(j.inDeclaredOrder(), false)
		j.refused = &Refusal{Code: map[string]string{pipeline.RequireAll: codeIncomplete, pipeline.Quorum: codeQuorum}[m.Policy]}
	default:
		j.row, m.Collisions, j.refused = mergeRows(j.step, j.inDeclaredOrder())
	}
	if j.refused != nil {
		m.Result, m.Code = resultRefused, j.refused.Code
	}
	return &m
}

func (j *join) inDeclaredOrder() []branchToken {
	list := slices.Clone(j.arrived)
	slices.SortFunc(list, func(a, b branchToken) int {
		return slices.Index(j.expected, a.branch) - slices.Index(j.expected, b.branch)
	})
	return list
}

func policyWord(step *pipeline.Step) string {
	if step.Policy.Word == "" {
		return pipeline.RequireAll
	}
	return step.Policy.Word
}
