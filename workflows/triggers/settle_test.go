package triggers

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/plugin"
	"waymark/tests/blank"
)

// TestFilesOfARunThatIsGivenUp wait for another run, but for those that have changed since: the run of the change reads
// these.
func TestFilesOfARunThatIsGivenUp(t *testing.T) {
	ctx := t.Context()
	log := landscape.New(blank.New(t), time.Now)
	bundle, version := landscapetest.VersionOf("orders", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(ctx, landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	require.NoError(t, landscapetest.SetTrigger(ctx, log, "orders", "drop"))
	const id = "default/orders/drop"
	at, err := log.Watch(ctx, id)
	require.NoError(t, err)
	w := &watched{Watcher: &Watcher{Log: log, Logger: told(func() {})}, row: landscape.Trigger{ID: id}, at: at}

	arrive := func(revision int64, paths ...string) (arrived []landscape.ArrivalChange) {
		for _, path := range paths {
			arrival := landscape.NewArrival(id, revision, plugin.FileInfo{Path: path, Bytes: 7 + revision})
			arrived = append(arrived, landscape.ArrivalChange{To: arrival})
		}
		return arrived
	}
	require.NoError(t, w.record(ctx, w.at, arrive(0, "changed", "same")))
	ready, err := log.ArrivalsInState(ctx, id, landscape.ArrivalReady, 0)
	require.NoError(t, err)
	start := landscape.Start{Run: "r", Pipeline: "orders", Params: "{}", Trigger: "arrival"}
	w.at, err = log.Take(ctx, w.at, start, ready)
	require.NoError(t, err)
	w.has.Taken = true
	require.NoError(t, w.record(ctx, w.at, arrive(1, "changed")))
	start, err = log.LastStart(ctx, "r")
	require.NoError(t, err)
	start.State = landscape.StartCancelled
	require.NoError(t, log.Refuse(ctx, start))

	open, err := w.settle(ctx)
	require.NoError(t, err)
	require.Zero(t, open)
	for _, c := range []struct {
		item     string
		revision int64
		state    landscape.ArrivalState
	}{
		{"changed", 0, landscape.ArrivalGone},
		{"changed", 1, landscape.ArrivalReady},
		{"same", 0, landscape.ArrivalReady},
	} {
		arrival, err := log.ArrivalAt(ctx, id, c.item, c.revision)
		require.NoError(t, err)
		require.Equal(t, []any{c.state, ""}, []any{arrival.State, arrival.Run}, "%s, revision %d", c.item, c.revision)
	}
}

// TestAClockThatIsSetBackHoldsNobodyUp: a time an hour ahead is nothing to wait for.
func TestAClockThatIsSetBackHoldsNobodyUp(t *testing.T) {
	for ago, want := range map[time.Duration]bool{time.Hour: false, 0: true, -time.Second: true, -time.Hour: false} {
		require.Equal(t, want, lately(landscape.MicrosOf(time.Now().Add(-ago)), time.Minute), ago)
	}
}
