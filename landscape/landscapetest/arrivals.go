package landscapetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/plugin"
)

// SetTrigger sets a trigger of version 1 of a pipeline.
func SetTrigger(ctx context.Context, log *landscape.Log, of, name string) error {
	id := landscape.ScheduleID(landscape.DefaultEnvironment, of, name)
	return log.ChangeTrigger(ctx, id, func(*landscape.Trigger) (*landscape.Trigger, error) {
		return &landscape.Trigger{
			Environment: landscape.DefaultEnvironment, Pipeline: of, Name: name, Action: landscape.SetTrigger, Spec: `{"Source":"in"}`, Version: 1, Actor: "ann", Why: "first",
		}, nil
	})
}

// Arrived lets two files arrive at a trigger of a pipeline of which version 1 is there: a run takes one, and a person ignores the other.
func Arrived(ctx context.Context, log *landscape.Log, of string) error {
	id := landscape.ScheduleID(landscape.DefaultEnvironment, of, "drop")
	err := SetTrigger(ctx, log, of, "drop")
	watch, read := log.Watch(ctx, id)
	watch, came := log.ChangeArrivals(ctx, watch, watch, arrivalsAt(id, 0, "in/a.csv", "in/b.csv"))
	ready, found := log.ArrivalsInState(ctx, id, landscape.ArrivalReady, 0)
	if err := errors.Join(err, read, came, found); err != nil {
		return err
	}
	if err := log.Ignore(ctx, ready[1], "ignored by ann: rubbish", "ann", "rubbish"); err != nil {
		return err
	}
	_, err = log.Take(ctx, watch, landscape.Start{Run: "arrived", Pipeline: of, Params: "{}", Trigger: "arrival"}, ready[:1])
	return err
}

func arrivalsAt(trigger string, revision int64, paths ...string) (changes []landscape.ArrivalChange) {
	for _, path := range paths {
		changes = append(changes, landscape.ArrivalChange{To: landscape.NewArrival(trigger, revision, plugin.FileInfo{Path: path, Bytes: 7 + revision, Version: "etag:x"})})
	}
	return changes
}

// arrivals holds what a log says of triggers, and of what arrives.
func arrivals(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	now := time.Unix(1000, 0)
	log := landscape.New(d, func() time.Time { return now })
	bundle, version := VersionOf("orders", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(ctx, landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	const id = "default/orders/drop"
	_, err = log.Trigger(ctx, id)
	require.ErrorIs(t, err, landscape.ErrNotFound)
	require.NoError(t, SetTrigger(ctx, log, "orders", "drop"))
	require.NoError(t, SetTrigger(ctx, log, "orders", "drop2"))
	all, err := log.Triggers(ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)

	first, err := log.Watch(ctx, id)
	require.NoError(t, err)
	require.Equal(t, landscape.Watch{Trigger: id}, first)
	next := first
	next.Looked, next.Waiting = landscape.MicrosOf(now), 2
	watch, err := log.ChangeArrivals(ctx, first, next, arrivalsAt(id, 0, "b", "a", "ab"))
	require.NoError(t, err)
	found, err := log.Watch(ctx, id)
	require.NoError(t, err)
	require.Equal(t, watch, found)
	require.Equal(t, []any{int64(1), int64(2)}, []any{watch.Turn, watch.Waiting})

	_, err = log.ChangeArrivals(ctx, first, first, arrivalsAt(id, 0, "late"))
	require.ErrorIs(t, err, landscape.ErrTurnLost, "somebody else looked since")
	ready := inState(t, log, id, landscape.ArrivalReady)
	require.Equal(t, []string{"a/0", "ab/0", "b/0"}, named(ready))
	openArrivals(t, log, id, true, false)

	now = now.Add(time.Second)
	start := landscape.Start{Run: "r1", Pipeline: "orders", Params: "{}", Trigger: "arrival"}
	_, err = log.Take(ctx, first, start, ready[:2])
	require.ErrorIs(t, err, landscape.ErrTurnLost)
	_, err = log.LastStart(ctx, "r1")
	require.ErrorIs(t, err, landscape.ErrNotFound, "all or nothing")
	watch, err = log.Take(ctx, watch, start, ready[:2])
	require.NoError(t, err)
	asked, err := log.LastStart(ctx, "r1")
	require.NoError(t, err)
	require.Equal(t, landscape.StartAccepted, asked.State)
	list, err := log.ArrivalsOfRun(ctx, "r1")
	require.NoError(t, err)
	require.Equal(t, []string{"a/0", "ab/0"}, named(list))
	require.Equal(t, "r1", list[1].Run)
	file, err := list[0].File()
	require.NoError(t, err)
	require.Equal(t, plugin.FileInfo{Path: "a", Bytes: 7, Version: "etag:x"}, file)
	waiting, oldest, err := log.ArrivalBacklog(ctx, id)
	require.NoError(t, err)
	require.Equal(t, []any{int64(1), landscape.MicrosOf(time.Unix(1000, 0))}, []any{waiting, oldest})

	openArrivals(t, log, id, true, true)
	watchOfAll(t, log, watch)
	watch = givenBack(t, log, watch)
	watch = completeArrivals(t, log, watch)
	deliveredTo(t, log, watch)
	orderedArrivals(t, log, id)
}

// givenBack takes arrivals from a run, as if it had been cancelled, and gives one of them to another.
func givenBack(t *testing.T, log *landscape.Log, watch landscape.Watch) landscape.Watch {
	ctx := t.Context()
	var back []landscape.ArrivalChange
	for _, from := range inState(t, log, watch.Trigger, landscape.ArrivalTaken) {
		to := from
		to.State, to.Run, to.Reason = landscape.ArrivalReady, "", "run r1 was cancelled"
		back = append(back, landscape.ArrivalChange{From: &from, To: to})
	}
	back[1].To.State = landscape.ArrivalGone
	watch, err := log.ChangeArrivals(ctx, watch, watch, back)
	require.NoError(t, err)
	ready := inState(t, log, watch.Trigger, landscape.ArrivalReady)
	require.Equal(t, []string{"a/0", "b/0"}, named(ready), "in the order in which they arrived")
	watch, err = log.Take(ctx, watch, landscape.Start{Run: "r2", Pipeline: "orders", Params: "{}", Trigger: "arrival"}, ready[:1])
	require.NoError(t, err)
	list, err := log.ArrivalsOfRun(ctx, "r1")
	require.NoError(t, err)
	require.Equal(t, []string{"r2", ""}, []string{list[0].Run, list[1].Run}, "what was on a list stays there")
	return watch
}

// completeArrivals completes the run that took an arrival, and finds the file changed then.
func completeArrivals(t *testing.T, log *landscape.Log, watch landscape.Watch) landscape.Watch {
	ctx := t.Context()
	require.NoError(t, (Scene{Run: "r2", Chunks: 1, ChunkRows: 5}).Play(ctx, log))
	run, err := log.Run(ctx, "r2")
	require.NoError(t, err)
	require.True(t, run.Status.Complete())
	taken := inState(t, log, watch.Trigger, landscape.ArrivalTaken)
	done := taken[0]
	done.State = landscape.ArrivalDone
	changes := append(arrivalsAt(watch.Trigger, 1, "a"), landscape.ArrivalChange{From: &taken[0], To: done})
	watch, err = log.ChangeArrivals(ctx, watch, watch, changes)
	require.NoError(t, err)
	var last []landscape.Arrival
	require.NoError(t, log.LastArrivals(ctx, watch.Trigger, func(a landscape.Arrival) bool {
		last = append(last, a)
		return true
	}))
	require.Equal(t, []string{"a/1", "ab/0", "b/0"}, named(last))
	require.Equal(t, []string{"a/0"}, named(inState(t, log, watch.Trigger, landscape.ArrivalDone)))
	last = nil
	require.NoError(t, log.LastArrivals(ctx, watch.Trigger, func(a landscape.Arrival) bool {
		last = append(last, a)
		return false
	}))
	require.Equal(t, []string{"a/1"}, named(last))
	return watch
}

func inState(t *testing.T, log *landscape.Log, trigger string, state landscape.ArrivalState) []landscape.Arrival {
	t.Helper()
	found, err := log.ArrivalsInState(t.Context(), trigger, state, 0)
	require.NoError(t, err)
	return found
}

func named(list []landscape.Arrival) (names []string) {
	for _, a := range list {
		names = append(names, fmt.Sprintf("%s/%d", a.Item, a.Revision))
	}
	return names
}

// deliveredTo holds what a log says of what is delivered to a trigger, while somebody looks after it.
func deliveredTo(t *testing.T, log *landscape.Log, watch landscape.Watch) {
	ctx := t.Context()
	came := delivery(watch.Trigger, "rc_1")
	require.NoError(t, log.Receive(ctx, came))
	first := inState(t, log, watch.Trigger, landscape.ArrivalReady)[2:]
	require.Equal(t, []any{came.Item, came.Payload}, []any{first[0].Item, first[0].Payload})
	other := came
	other.Place, other.Payload = `{"path":"other"}`, digest("other", 0)
	require.NoError(t, log.Receive(ctx, other), "it was sent before")
	_, err := log.Take(ctx, watch, landscape.Start{Run: "r3", Pipeline: "orders", Params: "{}", Trigger: "arrival"}, first)
	require.NoError(t, err, "what comes moves no turn")
	require.NoError(t, log.Receive(ctx, came))
	again, err := log.LastArrival(ctx, came.Trigger, came.Item)
	require.NoError(t, err)
	require.Equal(t, first[0], again)
	id, err := again.DeliveryID()
	require.NoError(t, err)
	require.Equal(t, "id of rc_1", id)
}

// orderedArrivals holds what people decide about what arrived, and how it is listed.
func orderedArrivals(t *testing.T, log *landscape.Log, trigger string) {
	ctx := t.Context()
	ready := inState(t, log, trigger, landscape.ArrivalReady)
	require.Equal(t, []string{"b/0", "a/1"}, named(ready))
	require.NoError(t, log.Ignore(ctx, ready[0], "ignored by ann: rubbish", "ann", "rubbish"))
	require.ErrorIs(t, log.Ignore(ctx, ready[0], "ignored by bob: rubbish", "bob", "rubbish"), landscape.ErrStale)
	ignored, err := log.ArrivalAt(ctx, trigger, "b", 0)
	require.NoError(t, err)
	require.Equal(t, []any{landscape.ArrivalIgnored, "ignored by ann: rubbish", ""}, []any{ignored.State, ignored.Reason, ignored.Run})
	ordered, err := log.OrdersOfArrival(ctx, trigger, "b", 0)
	require.NoError(t, err)
	require.Len(t, ordered, 1)
	require.Equal(t, []any{landscape.IgnoreArrival, "ann", "rubbish"}, []any{ordered[0].Action, ordered[0].Actor, ordered[0].Why})

	again, err := log.Again(ctx, ignored, "again, by ann: mended", "ann", "mended")
	require.NoError(t, err)
	require.Equal(t, "b/1", named([]landscape.Arrival{again})[0])
	stored, err := log.LastArrival(ctx, trigger, "b")
	require.NoError(t, err)
	require.Equal(t, stored, again)
	require.Equal(t, []any{landscape.ArrivalReady, ignored.Place}, []any{again.State, again.Place})
	_, err = log.Again(ctx, ignored, "again, by bob: mended", "bob", "mended")
	require.ErrorIs(t, err, landscape.ErrStale, "another revision came meanwhile")
	none, err := log.OrdersOfArrival(ctx, trigger, "a", 0)
	require.NoError(t, err)
	require.Empty(t, none)

	all, err := log.NewestArrivals(ctx, trigger, "", nil, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"webhook://rc_1/0", "b/1", "a/1", "b/0", "ab/0", "a/0"}, named(all))
	page, err := log.NewestArrivals(ctx, trigger, "", &all[1], 2)
	require.NoError(t, err)
	require.Equal(t, all[2:4], page)
	page, err = log.NewestArrivals(ctx, trigger, landscape.ArrivalReady, &all[1], 2)
	require.NoError(t, err)
	require.Equal(t, []string{"a/1"}, named(page))
}

// delivery is something that is delivered to a trigger.
func delivery(trigger, receipt string) landscape.Arrival {
	payload := digest("delivery "+receipt, 0)
	return landscape.NewDelivery(trigger, plugin.FileInfo{Path: "webhook://" + receipt, Bytes: 7, Target: "payload:" +
		payload, Version: "sha256:x"}, payload, "id of "+receipt)
}

// openArrivals holds which triggers have arrivals that are not over: none but one.
func openArrivals(t *testing.T, log *landscape.Log, id string, ready, taken bool) {
	t.Helper()
	open, err := log.OpenArrivals(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]landscape.OpenArrivals{id: {Ready: ready, Taken: taken}}, open)
}

// watchOfAll moves the watch of the process that looks after all triggers, which is none of a trigger.
func watchOfAll(t *testing.T, log *landscape.Log, of landscape.Watch) {
	t.Helper()
	first, err := log.Watch(t.Context(), "")
	require.NoError(t, err)
	next, err := log.ChangeArrivals(t.Context(), first, first, nil)
	require.NoError(t, err)
	_, err = log.ChangeArrivals(t.Context(), first, first, nil)
	require.ErrorIs(t, err, landscape.ErrTurnLost)
	found, err := log.Watch(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, next, found)
	watches, err := log.Watches(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]landscape.Watch{of.Trigger: of}, watches)
}
