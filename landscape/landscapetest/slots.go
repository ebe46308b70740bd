package landscapetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// ScheduleOf returns a schedule of version 1 of a pipeline, as a program sets it.
func ScheduleOf(pipeline, name string) landscape.Schedule {
	return landscape.Schedule{
		Environment: landscape.DefaultEnvironment, Pipeline: pipeline, Name: name, Action: landscape.SetSchedule, Spec: `{"Every":{"Word":"day"}}`, Version: 1,
		Actor: "ann", Why: "first", Origin: landscape.FromDocument,
	}
}

// SetSchedule sets a schedule.
func SetSchedule(ctx context.Context, log *landscape.Log, schedule landscape.Schedule) error {
	id := landscape.ScheduleID(schedule.Environment, schedule.Pipeline, schedule.Name)
	return log.ChangeSchedule(ctx, id, func(*landscape.Schedule) (*landscape.Schedule, error) { return &schedule, nil })
}

// SlotOf returns the slot of a schedule of the n-th day of November 2026.
func SlotOf(schedule string, n int, state landscape.SlotState) landscape.Slot {
	day := landscape.MicrosOf(time.Date(2026, time.November, n, 0, 0, 0, 0, time.UTC))
	const length = landscape.Micros(24 * time.Hour / time.Microsecond)
	slot := landscape.Slot{Schedule: schedule, Name: fmt.Sprintf("2026-11-%02d", n), SlotFacts: landscape.SlotFacts{
		From: day, To: day + length, Due: day + length, Deadline: day + length + 1,
		Fired: true, State: state, Ready: day + length,
	}}
	if state != landscape.SlotDue {
		slot.Reason = "nobody served then"
	}
	return slot
}

// slots holds what a log says of schedules and their slots.
func slots(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	now := time.Unix(1000, 0)
	log := landscape.New(d, func() time.Time { return now })
	bundle, version := VersionOf("orders", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(ctx, landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	const id = "default/orders/nightly"
	_, err = log.Schedule(ctx, id)
	require.ErrorIs(t, err, landscape.ErrNotFound)
	require.NoError(t, SetSchedule(ctx, log, ScheduleOf("orders", "nightly")))
	require.NoError(t, SetSchedule(ctx, log, ScheduleOf("orders", "weekly")))

	now = now.Add(time.Second)
	until := landscape.MicrosOf(now.Add(time.Hour))
	pause := func(last *landscape.Schedule) (*landscape.Schedule, error) {
		next := *last
		next.Action, next.Paused, next.Until, next.Actor, next.Why = landscape.PauseSchedule, true, until, "bob", "ledger is moved"
		return &next, nil
	}
	require.NoError(t, log.ChangeSchedule(ctx, id, pause))
	require.NoError(t, log.ChangeSchedule(ctx, id, func(*landscape.Schedule) (*landscape.Schedule, error) { return nil, nil }))
	history, err := log.ScheduleHistory(ctx, id)
	require.NoError(t, err)
	require.Len(t, history, 2)
	require.Equal(t, history[0].At, history[1].Since, "the same slots as before")
	require.True(t, history[1].PausedAt(until-1))
	require.False(t, history[1].PausedAt(until), "the pause ends by itself")
	all, err := log.Schedules(ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, history[1], all[0])

	slotsOfValues(t, log)
	slotChanges(t, log, id)
	slotsAtOnce(t, log, id)
	slotsByHand(t, log, id)
	slotSets(t, log, id, "default/orders/weekly")
}

// slotSets reads slots of two schedules together, of which one has many that are not due yet.
func slotSets(t *testing.T, log *landscape.Log, one, two string) {
	ctx := t.Context()
	var ahead []landscape.SlotChange
	for n := range 20 {
		ahead = append(ahead, landscape.SlotChange{To: SlotOf(two, n+5, landscape.SlotDue)})
	}
	require.NoError(t, log.ChangeSlots(ctx, nil, ahead))
	for _, now := range []landscape.Micros{0, SlotOf(two, 5, landscape.SlotDue).Due, SlotOf(two, 22, landscape.SlotDue).Due} {
		sets, err := log.SlotsSince(ctx, []string{two, "default/none/daily", one}, now)
		require.NoError(t, err)
		for _, id := range []string{one, two} {
			var want []landscape.Slot
			require.NoError(t, log.LastSlots(ctx, id, func(slot landscape.Slot) bool {
				want = append(want, slot)
				return slot.Due > now
			}))
			require.Equal(t, want, sets[id], "since %d", now)
		}
		require.Len(t, sets, 2)
	}
	named, err := log.SlotsNamed(ctx, two, []string{"2026-11-06", "2026-11-07", "2026-12-01"})
	require.NoError(t, err)
	require.Len(t, named, 2)
	for name, slot := range named {
		want, err := log.Slot(ctx, two, name)
		require.NoError(t, err)
		require.Equal(t, want, slot)
	}
	asked, err := log.SlotRequests(ctx, []string{"", "hand-0", "no-request", "hand-0", "hand-1"})
	require.NoError(t, err)
	require.Len(t, asked, 2)
	require.Equal(t, "hand-1", asked["hand-1"].ID)
	for after, ids := range map[string][]string{"": {one, two}, "default/a": {one, two}, one: {two}, two: nil} {
		var found []string
		require.NoError(t, log.ScheduleHistories(ctx, after, func(history []landscape.Schedule) bool {
			found = append(found, history[0].ID)
			want, err := log.ScheduleHistory(ctx, history[0].ID)
			require.NoError(t, err)
			require.Equal(t, want, history)
			return true
		}))
		require.Equal(t, ids, found, "after %q", after)
	}
	require.NoError(t, log.ScheduleHistories(ctx, "", func(history []landscape.Schedule) bool {
		require.Equal(t, one, history[0].ID, "no more is wanted")
		return false
	}))
	current, err := log.CurrentVersions(ctx, landscape.DefaultEnvironment)
	require.NoError(t, err)
	versions, err := log.VersionsOf(ctx, current)
	require.NoError(t, err)
	require.Len(t, versions, len(current))
	bundles, err := log.Bundles(ctx, []string{versions["orders"].Bundle})
	require.NoError(t, err)
	require.Equal(t, versions["orders"].Bundle, bundles[versions["orders"].Bundle].SHA256)
	none, err := log.RunsByID(ctx, []string{"no-run"})
	require.NoError(t, err)
	require.Empty(t, none)
}

// slotsByHand takes slots in every state for a run that somebody began by hand: one that is running or done stays as it is.
func slotsByHand(t *testing.T, log *landscape.Log, id string) {
	ctx := t.Context()
	failed, done := SlotOf(id, 16, landscape.SlotDue), SlotOf(id, 17, landscape.SlotDue)
	missed, skipped := SlotOf(id, 14, landscape.SlotMissed), SlotOf(id, 15, landscape.SlotSkipped)
	var begun []landscape.SlotChange
	for i, slot := range []landscape.Slot{failed, done} {
		require.NoError(t, log.TakeSlot(ctx, slot, fmt.Sprintf("before-%d", i), landscape.SlotRequest{Actor: "bob"}))
		running, err := log.Slot(ctx, id, slot.Name)
		require.NoError(t, err)
		ended := running
		ended.State, ended.Reason = []landscape.SlotState{landscape.SlotFailed, landscape.SlotDone}[i], []string{"no space", ""}[i]
		begun = append(begun, landscape.SlotChange{From: &running, To: ended})
	}
	require.NoError(t, log.ChangeSlots(ctx, nil, append(begun, landscape.SlotChange{To: missed}, landscape.SlotChange{To: skipped})))
	for i, c := range []struct {
		slot  landscape.Slot
		run   string
		words []string
	}{
		{SlotOf(id, 13, landscape.SlotDue), "hand-0", []string{"due", "running"}},
		{missed, "hand-1", []string{"missed", "due", "running"}},
		{skipped, "hand-2", []string{"skipped", "due", "running"}},
		{failed, "hand-3", []string{"due", "running", "failed", "due", "running"}},
		{done, "before-1", []string{"due", "running", "done"}},
	} {
		for range 2 {
			by := landscape.SlotRequest{Actor: "ann", Why: "now"}
			require.NoError(t, log.TakeSlot(ctx, c.slot, fmt.Sprintf("hand-%d", i), by))
		}
		taken, err := log.Slot(ctx, id, c.slot.Name)
		require.NoError(t, err)
		require.Equal(t, c.run, taken.Run)
		require.True(t, taken.ByHand())
		events, err := log.SlotEvents(ctx, id, c.slot.Name)
		require.NoError(t, err)
		var words []string
		for _, event := range events {
			words = append(words, event.Event)
		}
		require.Equal(t, c.words, words)
	}
}

// slotChanges leads slots through their states.
func slotChanges(t *testing.T, log *landscape.Log, id string) {
	ctx := t.Context()
	first, second := SlotOf(id, 1, landscape.SlotDue), SlotOf(id, 2, landscape.SlotMissed)
	require.NoError(t, log.ChangeSlots(ctx, nil, []landscape.SlotChange{{To: first}, {To: second}}))
	due, err := log.SlotsInState(ctx, id, landscape.SlotDue, 0, false)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.NotZero(t, due[0].Changed)
	running := due[0]
	running.State, running.Run, running.Attempts = landscape.SlotRunning, "r1", 1
	require.NoError(t, log.ChangeSlots(ctx, nil, []landscape.SlotChange{{From: &due[0], To: running}}))
	err = log.ChangeSlots(ctx, nil, []landscape.SlotChange{{From: &due[0], To: running}})
	require.True(t, landscape.Raced(err), "somebody was first: %v", err)
	err = log.ChangeSlots(ctx, nil, []landscape.SlotChange{{To: SlotOf(id, 1, landscape.SlotMissed)}})
	require.True(t, landscape.Raced(err), "a slot is there once: %v", err)
	found, err := log.SlotOfRun(ctx, "r1")
	require.NoError(t, err)
	require.Equal(t, first.Name, found.Name)
	late := found
	late.Late = found.Deadline
	require.NoError(t, log.ChangeSlots(ctx, nil, []landscape.SlotChange{{From: &found, To: late, Event: landscape.SlotLate}}))

	missed, err := log.Slot(ctx, id, second.Name)
	require.NoError(t, err)
	again := missed
	again.State, again.Reason, again.Request = landscape.SlotDue, "", "q1"
	request := landscape.SlotRequest{ID: "q1", Schedule: id, Action: "backfill", First: second.Name, Last: second.Name, AtOnce: 2, Actor: "ann", Why: "month end"}
	require.NoError(t, log.ChangeSlots(ctx, &request, []landscape.SlotChange{{From: &missed, To: again}}))
	asked, err := log.SlotRequest(ctx, "q1")
	require.NoError(t, err)
	request.At = asked.At
	require.Equal(t, request, asked)

	events, err := log.SlotEvents(ctx, id, first.Name)
	require.NoError(t, err)
	var words []string
	for _, event := range events {
		words = append(words, event.Event)
	}
	require.Equal(t, []string{"due", "running", "late"}, words)
	between, err := log.SlotsBetween(ctx, id, first.Due, second.Due)
	require.NoError(t, err)
	require.Len(t, between, 1)
	between, err = log.SlotsBetween(ctx, id, first.Due+1, second.Due+1)
	require.NoError(t, err)
	require.Len(t, between, 1)
	require.Equal(t, second.Name, between[0].Name)
	var last []string
	require.NoError(t, log.LastSlots(ctx, id, func(s landscape.Slot) bool {
		last = append(last, s.Name)
		return true
	}))
	require.Equal(t, []string{second.Name, first.Name}, last)
}

// slotsOfValues asks for the slot before one, which is that of the same values.
func slotsOfValues(t *testing.T, log *landscape.Log) {
	ctx := t.Context()
	var changes []landscape.SlotChange
	for n := range 3 {
		for _, part := range []string{"", "/tenant=acme", "/tenant=umbrella"} {
			slot := SlotOf("default/orders/weekly", n+1, landscape.SlotDue)
			slot.Name += part
			changes = append(changes, landscape.SlotChange{To: slot})
		}
	}
	require.NoError(t, log.ChangeSlots(ctx, nil, changes))
	for _, slot := range changes {
		before, err := log.SlotBefore(ctx, slot.To)
		if strings.HasPrefix(slot.To.Name, "2026-11-01") {
			require.ErrorIs(t, err, landscape.ErrNotFound)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, slot.To.Name[10:], before.Name[10:])
		require.Equal(t, slot.To.From, before.To)
	}
}

// slotsAtOnce lets many processes record the same slot, and begin its run: one does.
func slotsAtOnce(t *testing.T, log *landscape.Log, id string) {
	const processes = 6
	var all sync.WaitGroup
	failed := make([]error, processes)
	slot := SlotOf(id, 9, landscape.SlotDue)
	for i := range processes {
		all.Go(func() {
			ctx := context.WithoutCancel(t.Context())
			if err := log.ChangeSlots(ctx, nil, []landscape.SlotChange{{To: slot}}); err != nil && !landscape.Raced(err) {
				failed[i] = err
				return
			}
			due, err := log.Slot(ctx, id, slot.Name)
			if err != nil || due.State != landscape.SlotDue {
				failed[i] = err
				return
			}
			running := due
			running.State, running.Run, running.Attempts = landscape.SlotRunning, fmt.Sprintf("at-once-%d", i), 1
			if err := log.ChangeSlots(ctx, nil, []landscape.SlotChange{{From: &due, To: running}}); !landscape.Raced(err) {
				failed[i] = err
			}
		})
	}
	all.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
	events, err := log.SlotEvents(t.Context(), id, slot.Name)
	require.NoError(t, err)
	require.Len(t, events, 2, "due once, running once")
}

// Nightly plays a schedule of version 1 of a pipeline: of its slots of November 2026 the first is running, the second late, and done, the third
// missed, and asked for by a person.
func Nightly(ctx context.Context, log *landscape.Log, pipeline, run, done string) error {
	id := landscape.ScheduleID(landscape.DefaultEnvironment, pipeline, "nightly")
	if err := SetSchedule(ctx, log, ScheduleOf(pipeline, "nightly")); err != nil {
		return err
	}
	first, second, third := SlotOf(id, 1, landscape.SlotDue), SlotOf(id, 2, landscape.SlotDue), SlotOf(id, 3, landscape.SlotMissed)
	err := log.ChangeSlots(ctx, nil, []landscape.SlotChange{{To: first}, {To: second}, {To: third}})
	becomes := func(name, event string, request *landscape.SlotRequest, become func(*landscape.Slot)) {
		if err != nil {
			return
		}
		var from landscape.Slot
		if from, err = log.Slot(ctx, id, name); err == nil {
			to := from
			become(&to)
			err = log.ChangeSlots(ctx, request, []landscape.SlotChange{{From: &from, To: to, Event: event}})
		}
	}
	begun := func(run string) func(*landscape.Slot) {
		return func(s *landscape.Slot) { s.State, s.Run, s.Attempts = landscape.SlotRunning, run, 1 }
	}
	becomes(first.Name, "", nil, begun(run))
	becomes(second.Name, "", nil, begun(done))
	becomes(second.Name, landscape.SlotLate, nil, func(s *landscape.Slot) { s.Late, s.Reason = s.Deadline, "it runs" })
	becomes(second.Name, "", nil, func(s *landscape.Slot) { s.State, s.Reason = landscape.SlotDone, "" })
	request := landscape.SlotRequest{ID: "q-" + pipeline, Schedule: id, Action: "backfill", First: third.Name, Last: third.Name, AtOnce: 1, Actor: "ann", Why: "month end"}
	becomes(third.Name, "", &request, func(s *landscape.Slot) { s.State, s.Reason, s.Request = landscape.SlotDue, "", request.ID })
	return err
}
