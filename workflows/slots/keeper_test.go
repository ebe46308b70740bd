package slots

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/blank"
)

// A backfill of years does not keep the slot of tonight from its run.
func TestManySlotsThatAreDueHideNone(t *testing.T) {
	log := landscape.New(blank.New(t), nil)
	bundle, version := landscapetest.VersionOf("x", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(t.Context(), landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	require.NoError(t, landscapetest.SetSchedule(t.Context(), log, landscapetest.ScheduleOf("x", "nightly")))
	row, err := log.Schedule(t.Context(), "default/x/nightly")
	require.NoError(t, err)
	s, err := Read(row)
	require.NoError(t, err)
	var changes []landscape.SlotChange
	for slot := range s.Calendar.Due(time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)) {
		changes = append(changes, landscape.SlotChange{To: s.Record(slot, false)})
		if len(changes) == 3*mostDue {
			break
		}
	}
	require.NoError(t, log.ChangeSlots(t.Context(), nil, changes))
	due, err := (&Keeper{Log: log}).due(t.Context(), row.ID)
	require.NoError(t, err)
	require.Len(t, due, 2*mostDue)
	names := map[string]bool{}
	for _, slot := range due {
		names[slot.Name] = true
	}
	require.Len(t, names, 2*mostDue, "each once")
	require.Equal(t, changes[0].To.Name, due[0].Name)
	require.True(t, slices.ContainsFunc(due, func(s landscape.Slot) bool { return s.Name == changes[len(changes)-1].To.Name }))
}

// What a turn knows of the slots that it changed is what is recorded of them.
func TestTheLedgerAfterChangesIsTheRecorded(t *testing.T) {
	log, s := pausedAfterTwo(t)
	at := []landscape.SlotChange{{To: slotOf(1, landscape.SlotDue, "")}, {To: slotOf(2, landscape.SlotDue, "")}}
	require.NoError(t, log.ChangeSlots(t.Context(), nil, at))
	l, err := (&Keeper{Log: log}).ledger(t.Context(), s, []landscape.Schedule{s.Schedule}, day(3).Time())
	require.NoError(t, err)
	d := s.decide(l, day(3).Time(), func() string { return "new" })
	require.NoError(t, log.ChangeSlots(t.Context(), nil, d.changes))
	then, plain := l.after(d.changes)
	require.False(t, plain, "one waits for its turn, and that is to be said")
	for i, state := range []landscape.SlotState{landscape.SlotRunning, landscape.SlotDue} {
		recorded, err := log.SlotsInState(t.Context(), s.ID, state, 0, false)
		require.NoError(t, err)
		then.slots[i].Changed = recorded[0].Changed // which the log sets
		require.Equal(t, recorded, then.slots[i:i+1])
	}

	l = then
	l.outcomes["new"] = outcome{state: done}
	then, plain = l.after(s.decide(l, day(3).Time(), func() string { return "next" }).changes)
	require.True(t, plain, "one is done, and the next one begins")
	require.Len(t, then.slots, 1)
	require.Equal(t, "next", then.slots[0].Run)
}

// Only what the schedule itself started says that the schedule had better pause.
func TestFailuresThatPauseASchedule(t *testing.T) {
	night := func(n int, request string) landscape.Slot {
		slot := landscapetest.SlotOf("default/x/nightly", n, landscape.SlotDue)
		slot.Request, slot.Fired = request, request == ""
		return slot
	}
	missed := func(slot landscape.Slot) landscape.Slot { slot.Fired = true; return slot }
	for name, test := range map[string]struct {
		slots []landscape.Slot // they fail one after the other
		again int              // the first of them that somebody asks to retry, which fails as well; 0 for none
		want  string           // why the schedule is paused; empty if it is not
	}{
		"two nights":                      {slots: []landscape.Slot{night(1, ""), night(2, "")}, want: "2 slots failed one after the other, the last: 2026-11-02: no file"},
		"one night":                       {slots: []landscape.Slot{night(1, "")}},
		"a backfill":                      {slots: []landscape.Slot{night(1, "q"), night(2, "q"), night(3, "q")}},
		"a backfill of nights of a pause": {slots: []landscape.Slot{missed(night(1, "q")), missed(night(2, "q")), missed(night(3, "q"))}},
		"a backfill beside a night":       {slots: []landscape.Slot{night(1, "q"), missed(night(2, "q")), night(3, "")}},
		"nights beside a backfill":        {slots: []landscape.Slot{night(1, "q"), night(2, ""), missed(night(3, "q")), night(4, "")}, want: "2 slots failed one after the other, the last: 2026-11-04: no file"},
		"a night that was retried":        {slots: []landscape.Slot{night(1, ""), night(2, "")}, again: 1, want: "2 slots failed one after the other, the last: 2026-11-02: no file"},
	} {
		t.Run(name, func(t *testing.T) {
			log, s := pausedAfterTwo(t)
			keeper := &Keeper{Log: log}
			for i, slot := range test.slots {
				require.NoError(t, keeper.pauseAfter(t.Context(), s, fails(t, log, slot)))
				if test.again == i+1 {
					slot.Request = "q"
					require.NoError(t, keeper.pauseAfter(t.Context(), s, fails(t, log, slot)))
				}
			}
			now, err := log.Schedule(t.Context(), s.ID)
			require.NoError(t, err)
			require.Equal(t, test.want != "", now.Paused)
			if now.Paused {
				require.Equal(t, test.want, now.Why)
			}
		})
	}
}

// pausedAfterTwo returns a schedule that pauses after two failures, and the log that has it.
func pausedAfterTwo(t *testing.T) (*landscape.Log, *Schedule) {
	t.Helper()
	now := day(1).Time()
	log := landscape.New(blank.New(t), func() time.Time { now = now.Add(time.Second); return now })
	bundle, version := landscapetest.VersionOf("x", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(t.Context(), landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	row := landscapetest.ScheduleOf("x", "nightly")
	row.Spec = `{"Every":{"Word":"day"},"PauseAfter":2}`
	require.NoError(t, landscapetest.SetSchedule(t.Context(), log, row))
	row, err = log.Schedule(t.Context(), "default/x/nightly")
	require.NoError(t, err)
	s, err := Read(row)
	require.NoError(t, err)
	return log, s
}

// fails records that the run of a slot fails, and returns the change by which it did.
func fails(t *testing.T, log *landscape.Log, slot landscape.Slot) (changes []landscape.SlotChange) {
	t.Helper()
	for _, state := range []landscape.SlotState{landscape.SlotDue, landscape.SlotRunning, landscape.SlotFailed} {
		change := landscape.SlotChange{To: slot}
		if recorded, err := log.Slot(t.Context(), slot.Schedule, slot.Name); err == nil {
			change.From, change.To = &recorded, recorded
		}
		change.To.State, change.To.Request, change.To.Reason = state, slot.Request, "no file"
		if state != landscape.SlotDue {
			change.To.Run, change.To.Attempts = "of-"+slot.Name, 1
		}
		changes = []landscape.SlotChange{change}
		require.NoError(t, log.ChangeSlots(t.Context(), nil, changes))
	}
	return changes
}
