package barrier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// What made a coalesce decide. Stored; never rename.
const (
	FiredByAll     = "all"     // every expected branch arrived
	FiredByQuorum  = "quorum"  // enough branches arrived
	FiredByFirst   = "first"   // a branch arrived, and one is enough
	FiredByLost    = "lost"    // lost branches left nothing to wait for
	FiredByTimeout = "timeout" // the timeout passed since the first branch arrived
)

// Codes of merged rows that a coalesce rejects. Stored; never rename.
const (
	CodeIncompleteBranches  = "INCOMPLETE_BRANCHES"   // not all branches came
	CodeQuorumNotMet        = "QUORUM_NOT_MET"        // fewer branches came than are needed
	CodeSelectBranchMissing = "SELECT_BRANCH_MISSING" // the branch whose row is wanted did not come
	CodeCollision           = "COLLISION"             // branches have different values in one field
)

// Decision is what a coalesce made of the branches of one fork parent. Branches are indexes into plan.Coalescing.Branches.
type Decision struct {
	FiredBy    string
	Arrived    []int    // the branches that came in time, in order of arrival
	Lost       []Lost   // the branches that were known to be lost, in declared order
	NotNeeded  []int    // the branches that were outstanding, in declared order
	Collisions []string // fields in which branches have different values, in the order of the merged row; only of a union
	Origins    []Origin // for each field of the merged row in order: the branch whose value it is
	Row        row.Row  // merged; if Refused, the union of what came; without a shape if Nothing
	Rejected   *plugin.Rejection
	Nothing    bool // no branch came, and none will
}

// Lost is a branch that did not come, and how its token ended instead.
type Lost struct {
	Branch int
	Reason pipeline.Path
}

// Origin is the branch that a field of a merged row comes from.
type Origin struct {
	Field  string
	Branch int
}

// Clone returns a decision that shares no slices with d. Strings are shared.
func (d Decision) Clone() Decision {
	d.Arrived, d.Lost, d.NotNeeded = slices.Clone(d.Arrived), slices.Clone(d.Lost), slices.Clone(d.NotNeeded)
	d.Collisions, d.Origins, d.Row = slices.Clone(d.Collisions), slices.Clone(d.Origins), d.Row.Clone()
	return d
}

// Coalescer decides when the branches of one fork parent become one row, and makes the row. Branches arrive or are lost, each
// once and in any order; a branch that does so twice is a defect in the caller, and panics. A Coalescer keeps memory for the next
// fork parent, see Reset. It is not safe for concurrent use.
type Coalescer struct {
	spec     *plan.Coalescing
	merger   *merger
	states   []branchState
	rows     []row.Row // by branch; of those that arrived before the decision, with Values of their own
	decided  bool
	decision Decision
}

// branchState is what is known of a branch: nothing, that it arrived, or the path by which its token ended elsewhere.
type branchState struct {
	arrived bool
	lost    pipeline.Path
}

func (b branchState) outstanding() bool { return !b.arrived && b.lost == "" }

// NewCoalescer returns a Coalescer that no branch has come to.
func NewCoalescer(spec *plan.Coalescing) *Coalescer { return newCoalescer(spec, newMerger(spec)) }

func newCoalescer(spec *plan.Coalescing, merger *merger) *Coalescer {
	n := len(spec.Branches)
	return &Coalescer{spec: spec, merger: merger, states: make([]branchState, n), rows: make([]row.Row, n)}
}

// Reset forgets all branches. The last Decision is no longer valid.
func (c *Coalescer) Reset() {
	clear(c.states)
	for b := range c.rows {
		c.rows[b].Values = c.rows[b].Values[:0]
	}
	d := &c.decision
	c.decision = Decision{
		Arrived: d.Arrived[:0], Lost: d.Lost[:0], NotNeeded: d.NotNeeded[:0], Collisions: d.Collisions[:0],
		Row: row.Row{Values: d.Row.Values[:0]},
	}
	c.decided = false
}

// Arrive says that a branch came with this row, of which the Coalescer copies the values, but not their text. It reports whether
// that decided.
func (c *Coalescer) Arrive(branch int, in row.Row) (decided bool) {
	c.account(branch).arrived = true
	if c.decided {
		return false
	}
	c.rows[branch] = row.Row{Shape: in.Shape, Values: append(c.rows[branch].Values[:0], in.Values...)}
	c.decision.Arrived = append(c.decision.Arrived, branch)
	return c.decide()
}

// Lose says that a branch will never come, because its token ended by this path. It reports whether that decided.
func (c *Coalescer) Lose(branch int, reason pipeline.Path) (decided bool) {
	c.account(branch).lost = reason
	return !c.decided && c.decide()
}

// Expire says that the timeout passed since the first branch arrived. It decides if nothing has, and reports it.
func (c *Coalescer) Expire() (decided bool) { return c.settle(FiredByTimeout) }

// Finish says that no branch will come any more. It decides if nothing has, and reports it.
func (c *Coalescer) Finish() (decided bool) { return c.settle(FiredByEnd) }

// Decision returns what was decided. It is valid once something is decided, until Reset; its slices belong to the Coalescer.
func (c *Coalescer) Decision() Decision { return c.decision }

// complete reports whether every expected branch arrived or is lost.
func (c *Coalescer) complete() bool {
	return !slices.ContainsFunc(c.states, branchState.outstanding)
}

func (c *Coalescer) account(branch int) *branchState {
	if !c.states[branch].outstanding() {
		panic(fmt.Sprintf("barrier: the branch %q of one row came twice", c.spec.Branches[branch]))
	}
	return &c.states[branch]
}

// decide settles if what is known suffices, and reports it.
func (c *Coalescer) decide() bool {
	word := c.verdict()
	return word != "" && c.settle(word)
}

// verdict returns what decides, or "" as long as nothing does. Whatever becomes of a row, it takes a first branch to become
// it: only when all are lost there is nothing to wait for.
func (c *Coalescer) verdict() string {
	arrived, lost, outstanding := c.count()
	needed := c.spec.Policy.Quorum
	switch policy := c.policy(); {
	case arrived == 0 && outstanding > 0:
		return ""
	case arrived == 0:
		return FiredByLost
	case policy == pipeline.First:
		return FiredByFirst
	case policy == pipeline.Quorum && arrived >= needed:
		return FiredByQuorum
	case policy == pipeline.Quorum && arrived+outstanding >= needed, policy == pipeline.BestEffort && outstanding > 0:
		return ""
	case lost > 0:
		return FiredByLost
	case outstanding > 0:
		return ""
	}
	return FiredByAll
}

func (c *Coalescer) count() (arrived, lost, outstanding int) {
	for _, state := range c.states {
		switch {
		case state.arrived:
			arrived++
		case state.lost != "":
			lost++
		default:
			outstanding++
		}
	}
	return arrived, lost, outstanding
}

func (c *Coalescer) policy() string { return cmp.Or(c.spec.Policy.Word, pipeline.RequireAll) }

// settle decides with what has arrived.
func (c *Coalescer) settle(firedBy string) bool {
	if c.decided {
		return false
	}
	c.decided = true
	d := &c.decision
	d.FiredBy = firedBy
	for b, state := range c.states {
		switch {
		case state.lost != "":
			d.Lost = append(d.Lost, Lost{Branch: b, Reason: state.lost})
		case !state.arrived:
			d.NotNeeded = append(d.NotNeeded, b)
		}
	}
	if d.Nothing = len(d.Arrived) == 0; !d.Nothing {
		c.merge()
	}
	return true
}

// merge makes the merged row, or the rejected one.
func (c *Coalescer) merge() {
	if rejected := c.givenUp(); rejected != nil {
		c.merger.union(&c.decision, c.rows)
		c.decision.Rejected = rejected
		return
	}
	c.merger.merge(&c.decision, c.rows)
}

// givenUp returns why the policy rejects what has arrived, or nil.
func (c *Coalescer) givenUp() *plugin.Rejection {
	arrived := len(c.decision.Arrived)
	switch {
	case c.policy() == pipeline.RequireAll && arrived < len(c.states):
		return &plugin.Rejection{Code: CodeIncompleteBranches, Message: "missing: " + c.missing()}
	case c.policy() == pipeline.Quorum && arrived < c.spec.Policy.Quorum:
		return &plugin.Rejection{Code: CodeQuorumNotMet, Message: fmt.Sprintf("%d of %d needed branches came; missing: %s", arrived, c.spec.Policy.Quorum, c.missing())}
	}
	return nil
}

// missing lists the branches that did not come, and how their tokens ended; and apart from these the branches that could still
// have come when it was decided.
func (c *Coalescer) missing() string {
	var missing, open []string
	for b, state := range c.states {
		branch := c.spec.Branches[b]
		switch {
		case state.lost != "":
			missing = append(missing, fmt.Sprintf("%s (%s)", branch, state.lost))
		case state.arrived:
		case c.decision.FiredBy == FiredByTimeout:
			missing = append(missing, branch+" (timeout)")
		case c.decision.FiredBy == FiredByLost:
			open = append(open, branch)
		default:
			missing = append(missing, branch)
		}
	}
	text := strings.Join(missing, ", ")
	if len(open) > 0 {
		text += "; not awaited: " + strings.Join(open, ", ")
	}
	return text
}
