package slots

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/blank"
)

// counting counts the statements that read.
type counting struct {
	landscape.Driver
	reads atomic.Int64
}

func (c *counting) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	c.reads.Add(1)
	return c.Driver.Read(ctx, kind, q, yield)
}

// atRest is how many statements a look takes, whatever there is of schedules of which nothing is due.
const atRest = 4

// TestSchedulesAtRestGetNoTurn: of many schedules one gets a turn when its time comes or something of it changes, and
// the others do not.
func TestSchedulesAtRestGetNoTurn(t *testing.T) {
	driver := &counting{Driver: blank.New(t)}
	log := landscape.New(driver, nil)
	bundle, version := landscapetest.VersionOf("x", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(t.Context(), landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	const many = 20
	for i := range many {
		row := landscapetest.ScheduleOf("x", fmt.Sprint("n", i))
		row.Spec = `{"Every":{"Word":"year"}}`
		require.NoError(t, landscapetest.SetSchedule(t.Context(), log, row))
	}
	k := &Keeper{Log: log, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))}
	turned := func() (ids []string, reads int64) {
		t.Helper()
		before := maps.Clone(k.known)
		driver.reads.Store(0)
		_, err := k.turns(t.Context())
		require.NoError(t, err)
		for id, now := range k.known {
			if before[id] != now {
				ids = append(ids, id)
			}
		}
		return ids, driver.reads.Load()
	}
	all, _ := turned()
	require.Len(t, all, many, "nothing is known at first")
	none, reads := turned()
	require.Empty(t, none)
	require.EqualValues(t, atRest, reads, "however many schedules there are")

	const one = "default/x/n7"
	require.NoError(t, log.ChangeSchedule(t.Context(), one, func(last *landscape.Schedule) (*landscape.Schedule, error) {
		next := *last
		next.Action, next.Paused, next.Until, next.Actor, next.Why = landscape.PauseSchedule, true, landscape.MicrosOf(time.Now().Add(time.Hour)), "ann", "moved"
		return &next, nil
	}))
	ids, _ := turned()
	require.Equal(t, []string{one}, ids, "somebody paused it")
	require.WithinDuration(t, time.Now().Add(time.Hour), k.known[one].next, time.Minute, "the pause ends then")
	none, reads = turned()
	require.Empty(t, none)
	require.EqualValues(t, atRest, reads)

	k.known[one].next = time.Now()
	ids, _ = turned()
	require.Equal(t, []string{one}, ids, "its time has come")

	slot := landscapetest.SlotOf(one, 1, landscape.SlotDue)
	slot.Ready = landscape.MicrosOf(time.Now().Add(time.Minute))
	require.NoError(t, log.ChangeSlots(t.Context(), nil, []landscape.SlotChange{{To: slot}}))
	ids, _ = turned()
	require.Equal(t, []string{one}, ids, "another process recorded a slot")
	none, _ = turned()
	require.Empty(t, none, "it is known")
	recorded, err := log.Slot(t.Context(), one, slot.Name)
	require.NoError(t, err)
	changed := recorded
	changed.State, changed.Reason = landscape.SlotSkipped, "skipped by ann: a holiday"
	require.NoError(t, log.ChangeSlots(t.Context(), nil, []landscape.SlotChange{{From: &recorded, To: changed}}))
	ids, _ = turned()
	require.Equal(t, []string{one}, ids, "somebody skipped it")

	k.looked = time.Now().Add(time.Hour)
	all, _ = turned()
	require.Len(t, all, many, "somebody set the clock back")
}

// TestATemporalThatIsSilentHoldsNothingUp: turns do not wait until schedules in Temporal were compared.
func TestATemporalThatIsSilentHoldsNothingUp(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	logger := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.NewLazyClient(client.Options{HostPort: silent.Addr().String(), Logger: logger})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	k := &Keeper{Client: c, Logger: logger}
	_, err = k.syncAll(t.Context())
	require.ErrorContains(t, err, "list schedules in Temporal: ")
	require.NoError(t, t.Context().Err())
	_, err = k.syncAll(t.Context())
	require.NoError(t, err, "it is not asked again at once")
}

// TestWhatATurnIsFor names what may have changed of a schedule since its last turn.
func TestWhatATurnIsFor(t *testing.T) {
	now := day(2).Time()
	row := landscape.LastRow{ID: "default/x/nightly", Seq: 3}
	for name, test := range map[string]struct {
		change func(k *known, l *look)
		want   bool
	}{
		"nothing":                           {func(*known, *look) {}, false},
		"its row":                           {func(k *known, _ *look) { k.Seq = 2 }, true},
		"the time":                          {func(k *known, _ *look) { k.next = now }, true},
		"not yet the time":                  {func(k *known, _ *look) { k.next = now.Add(1) }, false},
		"a run that goes on":                {func(k *known, _ *look) { k.runs, k.busy = []string{"r"}, true }, false},
		"one of which was told":             {func(k *known, l *look) { k.runs, l.told["r"] = []string{"r"}, true }, true},
		"another run of which was told":     {func(k *known, l *look) { k.runs, l.told["q"] = []string{"r"}, true }, false},
		"one of which nothing is told":      {func(k *known, _ *look) { k.busy, k.checked = true, time.Now().Add(-lost) }, true},
		"a slot that waits for others":      {func(k *known, _ *look) { k.waits = true }, true},
		"a slot that is due":                {func(_ *known, l *look) { l.open[row.ID] = map[string]int64{"s": 0} }, true},
		"a slot that is known":              {func(k *known, l *look) { k.slots = map[string]int64{"s": 1}; l.open[row.ID] = map[string]int64{"s": 1} }, false},
		"one that changed":                  {func(k *known, l *look) { k.slots = map[string]int64{"s": 1}; l.open[row.ID] = map[string]int64{"s": 2} }, true},
		"one that is over":                  {func(k *known, _ *look) { k.slots = map[string]int64{"s": 1} }, true},
		"a slot of another one that is due": {func(_ *known, l *look) { l.open["default/y/nightly"] = map[string]int64{"s": 0} }, false},
	} {
		k := &known{Schedule: &Schedule{Schedule: landscape.Schedule{ID: row.ID, Seq: 3}}, next: day(3).Time(), checked: time.Now()}
		l := look{open: map[string]map[string]int64{}, told: map[string]bool{}, now: now}
		test.change(k, &l)
		require.Equal(t, test.want, k.stale(l, row), name)
	}
}
