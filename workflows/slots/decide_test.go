package slots

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// scheduleOf returns a schedule as the YAML of a document has it.
func scheduleOf(t *testing.T, text string) *Schedule {
	t.Helper()
	table, err := pipeline.LoadTimetable("x.yaml", []byte("name: x\nschedules:\n  nightly: "+text+"\n"))
	require.NoError(t, err)
	spec, err := json.Marshal(table.Specs[0].Value)
	require.NoError(t, err)
	s, err := Read(landscape.Schedule{ID: "default/x/nightly", Pipeline: "x", Name: "nightly", Action: landscape.SetSchedule, Spec: string(spec), Since: day(1) + 1, At: day(1) + 1})
	require.NoError(t, err)
	return s
}

// day is the midnight, in UTC, of a day of November 2026; the slot of the day before is due then.
func day(n int) landscape.Micros {
	return landscape.MicrosOf(time.Date(2026, time.November, n, 0, 0, 0, 0, time.UTC))
}

const hour = landscape.Micros(time.Hour / time.Microsecond)

// told says of slots what a person would say.
func told(slots []landscape.Slot) string {
	var said []string
	for _, slot := range slots {
		said = append(said, strings.TrimSpace(fmt.Sprintf("%s %s %s", slot.Name[len("2026-11-"):], slot.State, slot.Reason)))
	}
	return strings.Join(said, "; ")
}

func TestSlotsFallDue(t *testing.T) {
	pause := func(seq int64, at landscape.Micros, paused bool, until landscape.Micros) landscape.Schedule {
		action := landscape.ResumeSchedule
		if paused {
			action = landscape.PauseSchedule
		}
		return landscape.Schedule{Seq: seq, At: at, Action: action, Paused: paused, Until: until, Actor: "ann", Why: "moved"}
	}
	for name, test := range map[string]struct {
		spec    string
		history []landscape.Schedule // after the first row
		last    landscape.Micros
		known   map[string]bool
		now     landscape.Micros
		want    string
	}{
		"the first one":              {spec: "{every: day}", now: day(2), want: "01 due"},
		"none twice":                 {spec: "{every: day}", last: day(2), now: day(2) + hour},
		"a clock that jumps back":    {spec: "{every: day}", last: day(3), now: day(2) + 1},
		"one that is asked for":      {spec: "{every: day}", last: day(2), known: map[string]bool{"2026-11-02": true}, now: day(4), want: "03 due"},
		"five after a stop":          {spec: "{every: day}", last: day(2), now: day(7), want: "02 due; 03 due; 04 due; 05 due; 06 due"},
		"five, the last of them":     {spec: "{every: day, catch_up: {slots: last}}", last: day(4), now: day(7) + hour, want: "04 missed nobody served when it was due, and a later slot is made up for (catch_up: last); 05 missed nobody served when it was due, and a later slot is made up for (catch_up: last); 06 due"},
		"none that is late":          {spec: "{every: day, catch_up: {slots: none}}", last: day(5), now: day(7), want: "05 missed nobody served when it was due (catch_up: none); 06 due"},
		"none from long ago":         {spec: "{every: day, catch_up: {within: 24h}}", last: day(4), now: day(6) + hour, want: "04 missed nobody served for 24h0m0s after it was due (catch_up: within); 05 due"},
		"an excepted day":            {spec: "{every: day, except: [2026-11-02]}", last: day(2), now: day(4), want: "02 skipped the schedule excepts it; 03 due"},
		"days of a pause":            {spec: "{every: day}", last: day(2), now: day(5), history: []landscape.Schedule{pause(1, day(3)-1, true, 0), pause(2, day(4)+1, false, 0)}, want: "02 missed paused by ann: moved; 03 missed paused by ann: moved; 04 due"},
		"a pause that ends":          {spec: "{every: day}", last: day(2), now: day(4), history: []landscape.Schedule{pause(1, day(2)+1, true, day(3)+1)}, want: "02 missed paused by ann: moved; 03 due"},
		"a pause that comes after":   {spec: "{every: day}", last: day(2), now: day(3) + hour, history: []landscape.Schedule{pause(1, day(3)+1, true, 0)}, want: "02 due"},
		"one that is not to begin":   {spec: "{every: day, jitter: 12h}", last: day(2), now: day(3), want: "02 due"},
		"none of a removed schedule": {spec: "{every: day}", now: day(9), history: []landscape.Schedule{{Seq: 1, At: day(2), Action: landscape.RemoveSchedule}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := scheduleOf(t, test.spec)
			history := append([]landscape.Schedule{s.Schedule}, test.history...)
			s.Action = history[len(history)-1].Action
			require.Equal(t, test.want, told(s.fallDue(history, test.last, test.known, test.now.Time())))
		})
	}
}

func TestManySlotsFallDueInParts(t *testing.T) {
	s := scheduleOf(t, "{every: minute}")
	require.Len(t, s.fallDue([]landscape.Schedule{s.Schedule}, 0, nil, day(9).Time()), mostAtOnce)
}

func TestDeadlines(t *testing.T) {
	for spec, want := range map[string]string{
		`{every: day, at: "02:00", zone: Europe/Berlin, promise: {by: "06:00"}}`:             "2026-11-02T05:00:00Z",
		`{every: day, at: "23:00", zone: Europe/Berlin, promise: {by: "06:00"}}`:             "2026-11-03T05:00:00Z",
		`{every: day, zone: Europe/Berlin, promise: {within: 90m}}`:                          "2026-11-02T00:30:00Z",
		`{every: {cron: "30 2 * * *"}, zone: Europe/Berlin, promise: {by: "02:30"}}`:         "2026-11-02T01:30:00Z",
		`{every: day, at: "02:00", zone: Europe/Berlin, promise: {by: "02:00"}, jitter: 5m}`: "2026-11-02T01:00:00Z",
	} {
		s := scheduleOf(t, spec)
		slot, err := s.Calendar.Named("2026-11-01")
		require.NoError(t, err)
		require.Equal(t, want, Promised(s.spec, s.Calendar.Zone(), slot.Due).Time().Format(time.RFC3339), spec)
	}
}

// slotOf is a slot of the n-th of November.
func slotOf(n int, state landscape.SlotState, run string) landscape.Slot {
	slot := landscape.Slot{Schedule: "default/x/nightly", Name: fmt.Sprintf("2026-11-%02d", n), SlotFacts: landscape.SlotFacts{
		From: day(n), To: day(n + 1), Due: day(n + 1), Ready: day(n + 1), State: state, Fired: true, Run: run,
	}}
	if run != "" {
		slot.Attempts = 1
	}
	return slot
}

func TestDecide(t *testing.T) {
	due, running, lost := landscape.SlotDue, landscape.SlotRunning, landscape.SlotFailed
	asked := func(slot landscape.Slot) landscape.Slot { slot.Request = "q"; return slot }
	of := func(tenant string, slot landscape.Slot) landscape.Slot { slot.Name += "/tenant=" + tenant; return slot }
	attempt := func(n int64, slot landscape.Slot) landscape.Slot { slot.Attempts = n; return slot }
	promised := func(slot landscape.Slot, late landscape.Micros) landscape.Slot {
		slot.Deadline, slot.Late = slot.Due+1, late
		return slot
	}
	fails := outcome{state: failed, reason: "S3 is away", curable: true, tries: 1}
	for name, test := range map[string]struct {
		spec     string
		slots    []landscape.Slot
		outcomes map[string]outcome
		before   map[string]landscape.Slot
		done     string
		paused   bool
		action   landscape.ScheduleAction
		now      landscape.Micros
		want     string
		cancel   string
	}{
		"begins what is due": {slots: []landscape.Slot{slotOf(1, due, "")}, want: "01 running"},
		"one at a time":      {slots: []landscape.Slot{slotOf(1, due, ""), slotOf(2, due, "")}, want: "01 running; 02 due waits for its turn: 1 at a time"},
		"the newest first":   {spec: "catch_up: {order: newest}", slots: []landscape.Slot{slotOf(1, due, ""), slotOf(2, due, "")}, want: "02 running; 01 due waits for its turn: 1 at a time"},
		"two at a time":      {spec: "catch_up: {at_once: 2}", slots: []landscape.Slot{slotOf(1, due, ""), slotOf(2, due, "")}, want: "01 running; 02 running"},
		"as many as there are": {
			spec: "overlap: allow", slots: []landscape.Slot{slotOf(1, running, "r"), slotOf(2, due, "")},
			outcomes: map[string]outcome{"r": {state: open}}, want: "02 running",
		},
		"waits for one that runs": {
			slots:    []landscape.Slot{slotOf(1, running, "r"), slotOf(2, due, "")},
			outcomes: map[string]outcome{"r": {state: open}}, want: "02 due waits for its turn: 1 at a time",
		},
		"and for one not begun": {slots: []landscape.Slot{slotOf(1, running, "r"), slotOf(2, due, "")}, want: "02 due waits for its turn: 1 at a time"},
		"follows one that has ended": {
			slots:    []landscape.Slot{slotOf(1, running, "r"), slotOf(2, due, "")},
			outcomes: map[string]outcome{"r": {state: done}}, want: "01 done; 02 running",
		},
		"skips": {
			spec: "overlap: skip", slots: []landscape.Slot{slotOf(1, running, "r"), slotOf(2, due, "")},
			outcomes: map[string]outcome{"r": {state: open}},
			want:     "02 skipped the run of slot 2026-11-01 was still going on (overlap: skip)",
		},
		"skips none that is made up": {
			spec: "overlap: skip", now: day(4),
			slots:    []landscape.Slot{slotOf(1, running, "r"), slotOf(2, due, "")},
			outcomes: map[string]outcome{"r": {state: open}}, want: "02 due waits for its turn: 1 at a time",
		},
		"cancels": {
			spec: "overlap: cancel", slots: []landscape.Slot{slotOf(1, running, "r"), slotOf(2, due, "")},
			outcomes: map[string]outcome{"r": {state: open}},
			want:     "02 due waits for the end of the run of slot 2026-11-01, which is cancelled",
			cancel:   "slot 2026-11-02 was due (overlap: cancel)",
		},
		"skips of its value alone": {
			spec:     "overlap: skip, for_each: {tenant: [a, b]}",
			slots:    []landscape.Slot{of("a", slotOf(1, running, "r")), of("a", slotOf(2, due, "")), of("b", slotOf(2, due, ""))},
			outcomes: map[string]outcome{"r": {state: open}},
			want:     "02/tenant=a skipped the run of slot 2026-11-01/tenant=a was still going on (overlap: skip); 02/tenant=b due waits for its turn: 1 at a time",
		},
		"values beside each other": {spec: "catch_up: {at_once: 2}, for_each: {tenant: [a, b, c]}", slots: []landscape.Slot{of("a", slotOf(1, due, "")), of("b", slotOf(1, due, "")), of("c", slotOf(1, due, ""))}, want: "01/tenant=a running; 01/tenant=b running; 01/tenant=c due waits for its turn: 2 at a time"},
		"a pause":                  {paused: true, slots: []landscape.Slot{slotOf(1, due, "")}, want: "01 due paused by ann: moved"},
		"not for who asks":         {paused: true, slots: []landscape.Slot{asked(slotOf(1, due, "")), slotOf(2, due, "")}, want: "01 running; 02 due paused by ann: moved"},
		"who asks waits for none": {
			slots:    []landscape.Slot{asked(slotOf(1, due, "")), slotOf(2, running, "r")},
			outcomes: map[string]outcome{"r": {state: open}}, want: "01 running",
		},
		"was removed": {action: landscape.RemoveSchedule, slots: []landscape.Slot{slotOf(1, due, ""), asked(slotOf(2, due, ""))}, want: "01 skipped the schedule was removed before its run began; 02 running"},
		"was deleted": {
			action:   landscape.DeleteSchedule,
			slots:    []landscape.Slot{slotOf(1, due, ""), asked(slotOf(2, due, "")), slotOf(3, running, "r")},
			outcomes: map[string]outcome{"r": {state: open}},
			want:     "01 skipped the schedule was deleted by ann: not needed; 02 skipped the schedule was deleted by ann: not needed",
		},
		"not before it is ready": {now: day(2) - 1, slots: []landscape.Slot{slotOf(1, due, "")}},
		"after the one before":   {spec: "after: previous", slots: []landscape.Slot{slotOf(2, due, "")}, before: map[string]landscape.Slot{"2026-11-02": slotOf(1, lost, "r")}, want: "02 due waits for slot 2026-11-01, which is failed (after: previous)"},
		"after one that is done": {spec: "after: previous", slots: []landscape.Slot{slotOf(2, due, "")}, before: map[string]landscape.Slot{"2026-11-02": slotOf(1, landscape.SlotDone, "r")}, want: "02 running"},
		"gives up": {
			slots: []landscape.Slot{slotOf(1, running, "r")}, outcomes: map[string]outcome{"r": fails},
			want: "01 failed S3 is away",
		},
		"was done before": {
			slots: []landscape.Slot{slotOf(1, running, "r")}, outcomes: map[string]outcome{"r": fails},
			done: "old", want: "01 done another run, r, failed: S3 is away",
		},
		"waits for a place": {
			slots:    []landscape.Slot{slotOf(1, running, "r")},
			outcomes: map[string]outcome{"r": {state: open, reason: "pool:db has no places"}},
			want:     "01 running pool:db has no places",
		},
		"tries again": {
			spec: "retry: {times: 1, wait: 15m}", slots: []landscape.Slot{slotOf(1, running, "r")},
			outcomes: map[string]outcome{"r": fails},
			want:     "01 due attempt 1 failed: S3 is away; the next follows after 15m0s",
		},
		"gives up in the end": {
			spec: "retry: {times: 1}", slots: []landscape.Slot{attempt(2, slotOf(1, running, "r"))},
			outcomes: map[string]outcome{"r": fails}, want: "01 failed S3 is away",
		},
		"tries nothing in vain": {
			spec: "retry: {times: 1}", slots: []landscape.Slot{slotOf(1, running, "r")},
			outcomes: map[string]outcome{"r": {state: failed, reason: "cancelled"}}, want: "01 failed cancelled",
		},
		"ran by hand in vain": {
			now: day(2) - 1, slots: []landscape.Slot{slotOf(1, running, "r")},
			outcomes: map[string]outcome{"r": fails}, want: "01 due failed before the slot was due: S3 is away",
		},
		"concurrency skips it": {
			slots:    []landscape.Slot{slotOf(1, running, "r"), slotOf(2, due, "")},
			outcomes: map[string]outcome{"r": {state: unwanted, reason: "one run at a time"}},
			want:     "01 skipped one run at a time; 02 running",
		},
		"somebody resumed it": {
			slots: []landscape.Slot{slotOf(1, lost, "r")}, outcomes: map[string]outcome{"r": {state: open}},
			want: "01 running",
		},
		"and it is complete": {
			slots: []landscape.Slot{slotOf(1, lost, "r")}, outcomes: map[string]outcome{"r": {state: done}},
			want: "01 done",
		},
		"is late": {
			slots:    []landscape.Slot{promised(slotOf(1, running, "r"), 0)},
			outcomes: map[string]outcome{"r": {state: open}}, want: "01 running late",
		},
		"is late once": {
			slots:    []landscape.Slot{promised(slotOf(1, running, "r"), 1)},
			outcomes: map[string]outcome{"r": {state: open}},
		},
		"recovers": {
			slots:    []landscape.Slot{promised(slotOf(1, running, "r"), 1)},
			outcomes: map[string]outcome{"r": {state: done}}, want: "01 done recovered",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := scheduleOf(t, "{every: day, "+test.spec+"}")
			l := ledger{
				slots: test.slots, outcomes: test.outcomes, before: test.before,
				done: map[string]string{"2026-11-01": test.done}, requests: map[string]landscape.SlotRequest{"q": {ID: "q", AtOnce: 1, Actor: "bob"}}}
			if test.action != "" {
				s.Action, s.Actor, s.Why = test.action, "ann", "not needed"
			}
			if test.paused {
				l.pause = &landscape.Schedule{Actor: "ann", Why: "moved"}
			}
			if test.now == 0 {
				test.now = test.slots[len(test.slots)-1].Due + 5
			}
			d := s.decide(l, test.now.Time(), func() string { return "new" })
			var said []string
			for _, change := range d.changes {
				said = append(said, strings.TrimSpace(told([]landscape.Slot{change.To})+" "+change.Event))
			}
			require.Equal(t, test.want, strings.Join(said, "; "))
			require.Equal(t, test.cancel, d.cancel["r"])
			requireSettled(t, s, l, d, test.now)
		})
	}
}

// requireSettled requires that nothing more is decided once what was decided is recorded, if that is plain and no slot
// waits: such a turn has no second round.
func requireSettled(t *testing.T, s *Schedule, l ledger, d decision, now landscape.Micros) {
	t.Helper()
	then, plain := l.after(d.changes)
	if !plain || s.known(then, now.Time()).waits {
		return
	}
	then.outcomes = map[string]outcome{"new": {state: open}}
	maps.Copy(then.outcomes, l.outcomes)
	require.Empty(t, s.decide(then, now.Time(), newRun).changes)
}

// A further attempt continues with the run, if that is possible.
func TestWhichRunAnAttemptIs(t *testing.T) {
	s := scheduleOf(t, "{every: day}")
	for name, test := range map[string]struct {
		run     string
		outcome outcome
		want    string
		seen    int64
	}{
		"the first":            {want: "new"},
		"a run that failed":    {run: "r", outcome: outcome{state: failed, tries: 3}, want: "r", seen: 3},
		"one that is complete": {run: "r", outcome: outcome{state: done, over: true, tries: 3}, want: "new"},
	} {
		t.Run(name, func(t *testing.T) {
			d := s.decide(ledger{slots: []landscape.Slot{slotOf(1, landscape.SlotDue, test.run)}, outcomes: map[string]outcome{test.run: test.outcome}}, day(2).Time(), func() string { return "new" })
			require.Len(t, d.changes, 1)
			require.Equal(t, test.want, d.changes[0].To.Run)
			require.Equal(t, test.seen, d.changes[0].To.Seen)
		})
	}
}

func TestNotesInTemporal(t *testing.T) {
	s := scheduleOf(t, "{every: day}")
	s.Seq, s.Actor, s.Why = 7, "ann", "first (of many)"
	seq, ours := entryOf(noteOf(s, day(1).Time()))
	require.True(t, ours)
	require.EqualValues(t, 7, seq)
	for _, note := range []string{"", "ledger is moved", "by me (waymark)", "(waymark 7"} {
		_, ours := entryOf(note)
		require.False(t, ours, note)
	}
}
