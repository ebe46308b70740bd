package retain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit/retain"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/plugin"
	"waymark/tests/blank"
)

// TestDeliveriesThatARunIsStillToReadStay: only what a person said that no run is to read is due, and not even that if
// it waits once more.
func TestDeliveriesThatARunIsStillToReadStay(t *testing.T) {
	ctx := t.Context()
	log := landscape.New(blank.New(t), time.Now)
	bundle, version := landscapetest.VersionOf("orders", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(ctx, landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	require.NoError(t, landscapetest.SetTrigger(ctx, log, "orders", "calls"))
	const trigger = "default/orders/calls"
	payloads := map[string]string{}
	deliver := func(item string) landscape.Arrival {
		payloads[item] = fmt.Sprintf("%064x", item[0])
		came := landscape.NewDelivery(trigger, plugin.FileInfo{Path: item, Bytes: 7}, payloads[item], "")
		require.NoError(t, log.Receive(ctx, came))
		last, err := log.LastArrival(ctx, trigger, item)
		require.NoError(t, err)
		return last
	}
	at, err := log.Watch(ctx, trigger)
	require.NoError(t, err)
	start := landscape.Start{Run: "r", Pipeline: "orders", Params: "{}", Trigger: "arrival"}
	_, err = log.Take(ctx, at, start, []landscape.Arrival{deliver("a run has it")})
	require.NoError(t, err)
	deliver("it waits")
	for _, item := range []string{"bad", "corrected"} {
		require.NoError(t, log.Ignore(ctx, deliver(item), "ignored", "ann", "no number"))
	}
	ignored, err := log.LastArrival(ctx, trigger, "corrected")
	require.NoError(t, err)
	_, err = log.Again(ctx, ignored, "once more", "ann", "the document was wrong")
	require.NoError(t, err)

	for after, want := range map[time.Duration][]string{time.Minute: nil, 2 * time.Hour: {payloads["bad"]}} {
		rules := retain.Rules{landscape.SourceClass: time.Hour}
		plan, err := retain.NewPlan(ctx, log.Reader, rules, time.Now().Add(after))
		require.NoError(t, err)
		require.Equal(t, want, plan.Payloads, "after %v", after)
	}
}
