package client

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/pipeline/calendar"
	"waymark/tests/blank"
)

// TestTheGridShowsWhatIs: no worker has looked at the slots for some time.
func TestTheGridShowsWhatIs(t *testing.T) {
	const day = 24 * time.Hour
	midnight := time.Now().UTC().Truncate(day)
	now := midnight.Add(-5*day + time.Hour)
	log := landscape.New(blank.New(t), func() time.Time { return now })
	deployed, version := landscapetest.VersionOf("orders", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(t.Context(), landscape.DefaultEnvironment, deployed, version)
	require.NoError(t, err)
	require.NoError(t, landscapetest.SetSchedule(t.Context(), log, landscapetest.ScheduleOf("orders", "nightly")))
	now = midnight
	slot := func(back int, run string) landscape.SlotChange {
		from := midnight.Add(-time.Duration(back+1) * day)
		record := landscape.NewSlot("default/orders/nightly", calendar.Slot{Name: from.Format(time.DateOnly), From: from, To: from.Add(day), Due: from.Add(day), Start: from.Add(day)}, true)
		record.State, record.Run, record.Attempts, record.Reason = landscape.SlotRunning, run, 1, "as it was"
		return landscape.SlotChange{To: record}
	}
	require.NoError(t, log.ChangeSlots(t.Context(), nil, []landscape.SlotChange{slot(4, "failed"), slot(3, "refused"), slot(2, "waiting")}))
	require.NoError(t, log.ChangeSlots(t.Context(), nil, []landscape.SlotChange{slot(5, "first")}))
	first, err := log.Slot(t.Context(), "default/orders/nightly", slot(5, "").To.Name)
	require.NoError(t, err)
	again := first
	again.Run = "another"
	require.NoError(t, log.ChangeSlots(t.Context(), nil, []landscape.SlotChange{{From: &first, To: again}}))
	for _, run := range []string{"first", "another", "failed", "refused", "waiting"} {
		require.NoError(t, log.Accept(t.Context(), landscape.Start{Run: run, Pipeline: "orders", Params: "{}", Workflow: "run-" + run}))
	}
	require.NoError(t, landscapetest.Scene{Run: "failed", Chunks: 1, ChunkRows: 1}.Begin(t.Context(), log))
	require.NoError(t, log.StopRun(t.Context(), "failed", pipeline.Failed, "no space"))
	require.NoError(t, landscapetest.Scene{Run: "first", Chunks: 1, ChunkRows: 1}.Play(t.Context(), log))
	for _, run := range []string{"refused", "another"} {
		refused, err := log.LastStart(t.Context(), run)
		require.NoError(t, err)
		refused.State, refused.Refusal, refused.Reason = landscape.StartRefused, "InputInvalid", "no such parameter"
		require.NoError(t, log.Refuse(t.Context(), refused))
	}
	require.NoError(t, log.SetLimit(t.Context(), landscape.Limit{Gate: landscape.PoolGate("db"), Places: 0, Actor: "ann", Why: "moved"}))
	require.Error(t, log.Admit(t.Context(), "waiting", landscapetest.Of("db")))

	grid, err := New(log, "memory", nobody{}).ScheduleGrid(t.Context(), "nightly", "", "")
	require.NoError(t, err)
	var last []any
	for _, s := range grid.Slots[len(grid.Slots)-6:] {
		last = append(last, []string{string(s.State), s.Reason})
	}
	require.Equal(t, []any{
		[]string{"done", "another run, another, failed: no such parameter"}, []string{"failed", "no space"}, []string{"failed", "no such parameter"}, []string{"running", "pool:db has no places: waymark limit set pool:db 1 --why TEXT gives it one"},
		[]string{"due", ""}, []string{"due", ""},
	}, last)
}

// A slot whose name recurs after its schedule was edited is shown as it was recorded.
func TestARecordedSlotIsShownAsRecorded(t *testing.T) {
	const day = 24 * time.Hour
	midnight := time.Now().UTC().Truncate(day)
	now := midnight.Add(-day - time.Minute)
	log := landscape.New(blank.New(t), func() time.Time { return now })
	deployed, version := landscapetest.VersionOf("orders", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(t.Context(), landscape.DefaultEnvironment, deployed, version)
	require.NoError(t, err)
	require.NoError(t, landscapetest.SetSchedule(t.Context(), log, landscapetest.ScheduleOf("orders", "nightly")))
	hour := func(from time.Time) landscape.SlotChange {
		to := from.Add(time.Hour)
		record := landscape.NewSlot("default/orders/nightly", calendar.Slot{
			Name: from.Format(time.DateOnly), From: from, To: to, Due: from, Start: from,
		}, true)
		record.State, record.Reason = landscape.SlotMissed, "nobody served"
		return landscape.SlotChange{To: record}
	}
	changes := []landscape.SlotChange{hour(midnight.Add(-day)), hour(midnight)}
	require.NoError(t, log.ChangeSlots(t.Context(), nil, changes))
	c := New(log, "memory", nobody{})

	next, err := c.NextSlots(t.Context(), SlotsRequest{Schedule: "nightly", Now: midnight.Add(time.Minute), Count: 2})
	require.NoError(t, err)
	require.Equal(t, midnight.Add(time.Hour), next[0].To)
	require.Equal(t, SlotState(landscape.SlotMissed), next[0].State)
	require.Equal(t, midnight.Add(2*day), next[1].To)
	require.Empty(t, next[1].State)

	grid, err := c.ScheduleGrid(t.Context(), "nightly", "", "")
	require.NoError(t, err)
	for i, slot := range grid.Slots[len(grid.Slots)-2:] {
		require.Equal(t, changes[i].To.Name, slot.Name)
		require.Equal(t, Time(changes[i].To.To), slot.To)
		require.Equal(t, SlotState(landscape.SlotMissed), slot.State)
	}

	former := changes[0].To
	former.Name, former.From, former.To = "2026-11-01T16:10Z", former.From+1, former.To+1
	require.NoError(t, log.ChangeSlots(t.Context(), nil, []landscape.SlotChange{{To: former}}))
	asked, err := c.RunSlot(t.Context(), SlotsRequested{Schedule: "nightly", First: former.Name, Last: former.Name})
	require.NoError(t, err, "the schedule had it before it was edited")
	require.Equal(t, former.Name, asked.Slots[0].Name)
	_, err = c.RunSlot(t.Context(), SlotsRequested{Schedule: "nightly", First: "2026-11-01T16:11Z"})
	require.ErrorContains(t, err, "has no slot named")
}
