package retain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit/retain"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/tests/blank"
)

// TestAnExecutedOrderIsContinued: what the execution of an order began, and a kill left, is done under the same number, though the order needs two persons.
func TestAnExecutedOrderIsContinued(t *testing.T) {
	ctx := t.Context()
	log, payloads := landscape.New(blank.New(t), nil), payload.New(&memstore.Store{}, payload.Options{})
	require.NoError(t, useAndEnd(ctx, log, payloads, "r", 0))
	_, err := log.Rule(ctx, landscape.ApprovalRule{Verb: landscape.OrderPurge, Persons: 2, Actor: "ann",
		Why: "four eyes"})
	require.NoError(t, err)
	order := landscapetest.OrderOf("", "purge", landscape.OrderPurge)
	require.NoError(t, log.Propose(ctx, order))
	_, err = log.Assent(ctx, landscapetest.AssentTo(order, landscape.Approves, "bob"))
	require.NoError(t, err)
	plan := func() *retain.Plan {
		plan, err := retain.NewPlan(ctx, log.Reader, retain.Rules{landscape.SourceClass: 0}, time.Now())
		require.NoError(t, err)
		return plan
	}
	purge := func(log *landscape.Log, number int64) (retain.Result, error) {
		purger := retain.Purger{Log: log, Payloads: payloads}
		return purger.Purge(ctx, plan(), landscape.Purge{ID: number, Actor: "ann", Why: "old", Rules: "{}"})
	}
	_, err = purge(log, 0)
	require.ErrorAs(t, err, new(*landscape.NeedsOrderError))
	require.Len(t, plan().Payloads, perRun)

	begun, err := log.Under(landscape.ApprovedExecution{Order: order.Digest, Persons: 2, Actor: "ann"}).
		BeginPurge(ctx, landscape.Purge{Actor: "ann, bob", Why: "old", Rules: "{}"}, plan().Runs)
	require.NoError(t, err, "and then the process was killed")
	x, err := log.ExecutionOf(ctx, order)
	require.NoError(t, err)
	require.Equal(t, begun.ID, *x.Purge)

	for _, left := range []int{perRun, 0} {
		done, err := purge(log, *x.Purge)
		require.NoError(t, err)
		require.Equal(t, left, done.Deleted)
		require.Empty(t, plan().Payloads)
	}
	allThere(t, log, payloads)
	orders, err := landscape.Select[landscape.Purge](ctx, log)
	require.NoError(t, err)
	require.Equal(t, []landscape.Purge{begun}, orders)
}
