package landscapetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// Endpoint is an endpoint that somebody sets.
func Endpoint(name string, order landscape.EndpointOrder) landscape.Endpoint {
	return landscape.Endpoint{
		Name: name, Action: landscape.SetEndpoint, URL: "http://127.0.0.1/hook", Format: landscape.StandardFormat, Order: order, Kinds: "[]", Pipelines: "[]", Secrets: `["s"]`, Actor: "ann", Why: "books",
	}
}

// SetEndpoint sets an endpoint, which gets the events after a position.
func SetEndpoint(ctx context.Context, log *landscape.Log, e landscape.Endpoint, from int64) error {
	_, err := log.ChangeEndpoint(ctx, e.Name, from, func(*landscape.Endpoint) (landscape.Endpoint, error) { return e, nil })
	return err
}

// Tell records so many events, and gives them positions.
func Tell(ctx context.Context, log *landscape.Log, run string, n int) error {
	for range n {
		start := landscape.Start{Run: run, Params: "{}", State: landscape.StartRefused, Refusal: "InputInvalid", Reason: run}
		if err := log.Refuse(ctx, start); err != nil {
			return err
		}
		run += "x"
	}
	_, err := log.Sequence(ctx)
	return err
}

// Delivered adds an endpoint to a landscape with events, which does not take the first that it gets.
func Delivered(ctx context.Context, log *landscape.Log) error {
	e := Endpoint("ledger", landscape.StrictOrder)
	if err := SetEndpoint(ctx, log, e, 2); err != nil {
		return err
	}
	held, _, err := log.HoldEndpoint(ctx, "ledger", "a")
	if err != nil {
		return err
	}
	if held, _, err = log.Enlist(ctx, e, held); err != nil {
		return err
	}
	due, err := log.Deliveries(ctx, "ledger", landscape.DeliveryDue, 0, 1)
	if err != nil {
		return err
	}
	_, err = log.RecordAttempt(ctx, e, held, due[0], due[0], landscape.DeliveryAttempt{At: 1, Status: 500, Error: "it answered 500"})
	return err
}

// deliveries holds what is recorded of deliveries: one process at a time delivers to an endpoint, and what it records is there once.
func deliveries(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	now := time.Unix(1_700_000_000, 0)
	log := landscape.New(d, func() time.Time { return now })
	require.NoError(t, Tell(ctx, log, "old", 2))
	_, err := log.Endpoint(ctx, "ledger")
	require.ErrorIs(t, err, landscape.ErrNotFound)
	e := Endpoint("ledger", landscape.StrictOrder)
	e.Kinds = landscape.List([]string{"start.refused", "endpoint.failing"})
	require.NoError(t, SetEndpoint(ctx, log, e, -1))
	require.NoError(t, Tell(ctx, log, "new", 3))
	e, err = log.Endpoint(ctx, "ledger")
	require.NoError(t, err)

	held, ours, err := log.HoldEndpoint(ctx, "ledger", "a")
	require.NoError(t, err)
	require.True(t, ours)
	_, ours, err = log.HoldEndpoint(ctx, "ledger", "b")
	require.NoError(t, err)
	require.False(t, ours)
	held, more, err := log.Enlist(ctx, e, held)
	require.NoError(t, err)
	require.False(t, more)
	due := func() []landscape.Delivery {
		found, err := log.Deliveries(ctx, "ledger", landscape.DeliveryDue, 0, 0)
		require.NoError(t, err)
		return found
	}
	require.Len(t, due(), 3)
	require.EqualValues(t, 3, due()[0].Position, "not what happened before the endpoint was added")
	first := due()[0]
	taken := first
	taken.State, taken.Status = landscape.DeliveryOK, 200
	held, err = log.RecordAttempt(ctx, e, held, first, taken, landscape.DeliveryAttempt{At: 1, Status: 200})
	require.NoError(t, err)
	_, err = log.RecordAttempt(ctx, e, held, first, taken, landscape.DeliveryAttempt{At: 1, Status: 200})
	require.Error(t, err, "it was recorded before")

	now = now.Add(-time.Hour)
	_, ours, err = log.HoldEndpoint(ctx, "ledger", "b")
	require.NoError(t, err)
	require.True(t, ours, "the clock was set back: what was written before it holds nobody up for an hour")
	_, ours, err = log.HoldEndpoint(ctx, "ledger", "a")
	require.NoError(t, err)
	require.False(t, ours, "the other has it for as long as ever")
	now = now.Add(time.Hour + landscape.EndpointLease + time.Second)
	other, ours, err := log.HoldEndpoint(ctx, "ledger", "b")
	require.NoError(t, err)
	require.True(t, ours, "nothing was heard of the other")
	second := due()[0]
	dead := second
	dead.State, dead.Status, dead.Error = landscape.DeliveryDead, 410, "it answered 410"
	_, err = log.RecordAttempt(ctx, e, held, second, dead, landscape.DeliveryAttempt{At: 2, Status: 410, Error: dead.Error})
	require.ErrorIs(t, err, landscape.ErrStale, "another process delivers by now")
	other, err = log.RecordAttempt(ctx, e, other, second, dead, landscape.DeliveryAttempt{At: 2, Status: 410, Error: dead.Error, Answer: "gone"})
	require.NoError(t, err)
	require.NotZero(t, other.Failing)
	attempts, err := log.DeliveryAttempts(ctx, "ledger", second.Position)
	require.NoError(t, err)
	require.Equal(t, []landscape.DeliveryAttempt{{Endpoint: "ledger", Position: 4, Attempt: 1, At: 2, Status: 410, Error: dead.Error, Answer: "gone"}}, attempts)
	_, err = log.Sequence(ctx)
	require.NoError(t, err)
	events, err := log.Outbox(ctx, 5, 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, landscape.EndpointFailing, events[0].Kind)

	backlogs, err := log.Backlogs(ctx)
	require.NoError(t, err)
	require.Len(t, backlogs, 1)
	require.EqualValues(t, 2, backlogs[0].Waiting, "one is due, and one that nobody has looked at")
	require.EqualValues(t, 1, backlogs[0].Dead)
	upTo, err := log.DroppableEvents(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 4, upTo, "the endpoint is still to get what follows")
	replays(t, log, e)
	require.NoError(t, log.DisableFailing(ctx, e, "it takes nothing"))
	require.NoError(t, log.DisableFailing(ctx, e, "again"), "somebody changed it meanwhile")
	e, err = log.Endpoint(ctx, "ledger")
	require.NoError(t, err)
	require.True(t, e.Disabled)
	upTo, err = log.DroppableEvents(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 6, upTo)
	dropped, err := log.DropEvents(ctx, 4, Before(landscape.MicrosOf(now)))
	require.NoError(t, err)
	require.EqualValues(t, 4, dropped)
	left, err := log.Deliveries(ctx, "ledger", "", 0, 0)
	require.NoError(t, err)
	require.Len(t, left, 1)
	attempts, err = log.DeliveryAttempts(ctx, "ledger", second.Position)
	require.NoError(t, err)
	require.Nil(t, attempts)
	require.NoError(t, log.ReleaseEndpoint(ctx, other))
	require.NoError(t, log.ReleaseEndpoint(ctx, other), "it was released before")
}

// replays asks for deliveries once more.
func replays(t *testing.T, log *landscape.Log, e landscape.Endpoint) {
	t.Helper()
	for _, c := range []struct {
		replay landscape.Replayed
		events int
	}{
		{landscape.Replayed{Dead: true}, 1},
		{landscape.Replayed{Dead: true}, 0},
		{landscape.Replayed{From: 2}, 2}, // one that it never was to get, and one that it took
		{landscape.Replayed{From: 1, Kinds: []landscape.EventKind{"run.started"}}, 0},
	} {
		n, err := log.Replay(t.Context(), e, c.replay)
		require.NoError(t, err)
		require.Equal(t, c.events, n)
	}
	due, err := log.Deliveries(t.Context(), e.Name, landscape.DeliveryDue, 0, 0)
	require.NoError(t, err)
	require.Len(t, due, 4)
	require.EqualValues(t, 1, due[2].Attempts, "what was tried stays recorded")
	require.Zero(t, due[2].Tries)
}
