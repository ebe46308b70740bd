package barrier

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

func coalesceNode(spec plan.Coalescing) plan.Node {
	spec.Branches, spec.Held = []string{"a", "b", "c"}, true
	return plan.Node{Operation: plan.Coalesce, Barrier: true, Context: inBranch, Coalescing: &spec}
}

// told writes arrivals as "a 1" (branch a of fork parent 1) and losses as "-a 1 gate_routed".
func (b *bench) told(events string) *Arrivals {
	in := &Arrivals{}
	for event := range strings.SplitSeq(events, ", ") {
		var name, reason string
		var parent int64
		n, err := fmt.Sscan(event, &name, &parent, &reason)
		if n < 2 {
			require.NoError(b.t, err)
		}
		keys := []Token{{Lane: 8, Row: parent * 100}, {Lane: 9, Row: parent}}
		branch := strings.Index("abc", strings.TrimPrefix(name, "-"))
		if strings.HasPrefix(name, "-") {
			in.Losses = append(in.Losses, Loss{Keys: keys, Branch: branch, Reason: pipeline.Path(reason)})
			continue
		}
		b.next++
		kept, _, _ := b.intake.Take(b.parser(fmt.Sprintf(`{"id":%d,"%s":%d}`, parent, name, b.next)))
		in.List = append(in.List, Arrival{Token: Token{Lane: branch + 1, Row: b.next}, Branch: branch, Keys: keys, Row: kept})
	}
	return in
}

func (b *bench) meet(seconds float64, events string) string {
	s, err := b.machine.Accept(at(seconds), b.told(events))
	require.NoError(b.t, err)
	return tellOf(s)
}

// Branches of several rows, mixed: what is merged, what is rejected, what comes too late, what comes to nothing.
func TestMeeting(t *testing.T) {
	b := newBench(t, coalesceNode(plan.Coalescing{Timeout: 10 * time.Second}))
	require.Equal(t, lines(`
		members [1 2 1 1 3]
		batch 1 all coalesced rows 3, 0s to 0s, of 1, wait 0s, out true, lost [], not needed [], collisions [], came a:1@0s b:3@0s c:4@0s
		out 1 {"id":1,"a":1,"b":3,"c":4} in [{8 100}]`), b.meet(0, "a 1, b 2, b 1, c 1, c 3"))
	require.Equal(t, at(10), b.machine.Deadline())
	batches, rows := b.machine.Held()
	require.Equal(t, []int64{2, 2}, []int64{batches, rows})

	require.Equal(t, lines(`
		members [2]
		batch 2 lost coalesced rows 2, 0s to 4s, of 2, wait 4s, out true, lost [{0 gate_routed}], not needed [], collisions [], came b:2@0s c:6@4s
		out 2 {"id":2,"b":2,"c":6} in [{8 200}] refused INCOMPLETE_BRANCHES: missing: a (gate_routed)`), b.meet(4, "c 2, -a 2 gate_routed, -a 4 filter_dropped"))
	require.Len(t, b.machine.rule.(*heldCoalesce).entries, 2, "rows of which all branches are known are forgotten")

	require.Equal(t, lines(`
		members [5]
		batch 3 timeout coalesced rows 1, 0s to 10s, of 3, wait 10s, out true, lost [], not needed [0 1], collisions [], came c:5@0s
		batch 5 arrival branch_not_needed rows 1, 60s to 60s, late for 3
		batch 4 lost coalesced rows 0, 4s to 60s, of 4, wait 0s, out false, lost [{0 filter_dropped} {1 gate_routed} {2 gate_routed}], not needed [], collisions [], came
		out 3 {"id":3,"c":5} in [{8 300}] refused INCOMPLETE_BRANCHES: missing: a (timeout), b (timeout)
		loss [{8 400}] branch 1 fork_parent`), b.meet(60, "a 3, -b 4 gate_routed, -c 4 gate_routed"))
	require.Zero(t, b.machine.Deadline())

	require.Equal(t, "members [6]\n", b.meet(61, "a 5"))
	require.Equal(t, lines(`
		batch 6 end coalesced rows 1, 61s to 62s, of 5, wait 1s, out true, lost [], not needed [1 2], collisions [], came a:8@61s
		out 6 {"id":5,"a":8} in [{8 500}] refused INCOMPLETE_BRANCHES: missing: b, c`), b.end(62))
	batches, rows = b.machine.Held()
	require.Equal(t, []int64{0, 0}, []int64{batches, rows})
}

// A row is remembered until its last branch, so that every late one is told.
func TestLateBranches(t *testing.T) {
	b := newBench(t, coalesceNode(plan.Coalescing{Policy: pipeline.Policy{Word: pipeline.First}}))
	require.Contains(t, b.meet(0, "b 1"), "batch 1 first coalesced rows 1")
	require.Equal(t, lines(`
		members [2]
		batch 2 arrival branch_not_needed rows 1, 1s to 1s, late for 1`), b.meet(1, "a 1"))
	require.Len(t, b.machine.rule.(*heldCoalesce).entries, 1)
	require.Equal(t, lines(`
		members [3]
		batch 3 arrival branch_not_needed rows 1, 2s to 2s, late for 1`), b.meet(2, "c 1"))
	require.Empty(t, b.machine.rule.(*heldCoalesce).entries)
}

// Deadlines go by the first branch that came, not by when a loss made the row known; equal ones by the number of the batch.
func TestTimeoutsInOrder(t *testing.T) {
	b := newBench(t, coalesceNode(plan.Coalescing{Policy: pipeline.Policy{Word: pipeline.BestEffort}, Timeout: 10 * time.Second}))
	b.meet(0, "-a 1 gate_routed, -a 2 gate_routed")
	b.meet(5, "a 3")
	b.meet(6, "b 2, b 1")
	got := b.tick(100)
	var order []string
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "batch") {
			order = append(order, strings.Split(line, ",")[0]+strings.Split(line, ",")[1])
		}
	}
	require.Equal(t, []string{
		"batch 3 timeout coalesced rows 1 5s to 15s", "batch 1 timeout coalesced rows 1 0s to 16s", "batch 2 timeout coalesced rows 1 0s to 16s",
	}, order)
}

// What no plan gives is an error, not a decision.
func TestMeetingRefusesDefects(t *testing.T) {
	for _, events := range []string{"a 1, a 1", "a 1, -a 1 gate_routed", "-a 1 gate_routed, -a 1 gate_routed", "x 1"} {
		b := newBench(t, coalesceNode(plan.Coalescing{}))
		_, err := b.machine.Accept(at(0), b.told(events))
		require.Error(t, err, events)
	}
	b := newBench(t, coalesceNode(plan.Coalescing{}))
	_, err := b.machine.Accept(at(0), &Arrivals{List: []Arrival{{Row: row.Row{Shape: noFields}}}})
	require.ErrorContains(t, err, "by no branch that it expects")
}
