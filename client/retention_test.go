package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit/retain"
	"waymark/landscape"
	"waymark/tests/blank"
)

// TestAPurgeThatWasExecutedIsContinued, although its order needs several persons: they have signed it. A new one is
// refused before anything is read.
func TestAPurgeThatWasExecutedIsContinued(t *testing.T) {
	log := landscape.New(blank.New(t), time.Now)
	rule := landscape.ApprovalRule{Verb: landscape.OrderPurge, Persons: 2, Actor: "ann", Why: "four eyes"}
	_, err := log.Rule(t.Context(), rule)
	require.NoError(t, err)
	request := PurgeRequest{By: By{Why: "old"}, Keep: map[landscape.Class]string{landscape.SourceClass: "1d"}}
	c := New(log, "memory", nobody{})
	_, err = c.Purge(t.Context(), request)
	require.ErrorAs(t, err, new(*landscape.NeedsOrderError))
	request.Continue = 1
	_, err = c.Purge(t.Context(), request)
	require.ErrorContains(t, err, "nobody has the payloads", "which are looked for next")
}

// TestRunsAreCountedOnce, though a run has due payloads of both classes, or shares them with runs whose rows an earlier
// order forgot.
func TestRunsAreCountedOnce(t *testing.T) {
	purge := Purge{Runs: []PurgedRun{
		{Run: "a", Class: landscape.SourceClass}, {Run: "b", Class: landscape.SourceClass},
		{Run: "a", Class: landscape.DerivedClass},
	}}
	require.EqualValues(t, 2, purge.RunCount())
	held := retain.Plan{Held: []retain.Held{
		{Run: "a", Class: landscape.SourceClass, Hold: 1}, {Run: "a", Class: landscape.DerivedClass, Hold: 1},
		{Run: "a", Hold: 2},
	}}
	require.EqualValues(t, 1, held.HeldRuns())
	forget := Forget{
		Rows: []landscape.RowKey{{Run: "b", Source: "in", Row: 1}, {Run: "b", Source: "in", Row: 4}},
		Runs: []string{"a", "b"},
	}
	require.EqualValues(t, 1, forget.RunCount())
}
