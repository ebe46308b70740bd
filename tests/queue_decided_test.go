package tests

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/landscape/admit"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/storages"
	"waymark/tests/system"
	"waymark/workflows"
	"waymark/workflows/recovery"
)

// meanwhile is what others do at certain moments, once.
type meanwhile struct {
	mu     sync.Mutex
	asking func() // while an activity asks whether its run may begin: after it looked at the start
	begins func() // when it is about to record that the run b begins
}

// now does what is to be done at a moment, once.
func (m *meanwhile) now(at *func()) {
	m.mu.Lock()
	do := *at
	*at = nil
	m.mu.Unlock()
	if do != nil {
		do()
	}
}

func (m *meanwhile) set(at *func(), do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*at = do
}

type interruptedPlanner struct {
	recompute.Planner
	meanwhile *meanwhile
}

func (p interruptedPlanner) Plan(request plan.Request) (*plan.Plan, error) {
	p.meanwhile.now(&p.meanwhile.asking)
	return p.Planner.Plan(request)
}

type interruptedDriver struct {
	landscape.Driver
	meanwhile *meanwhile
}

func (d interruptedDriver) Commit(ctx context.Context, tx landscape.Tx) error {
	if slices.ContainsFunc(tx.Insert, func(r landscape.Record) bool { run, ok := r.(landscape.Run); return ok && run.ID == "b" }) {
		d.meanwhile.now(&d.meanwhile.begins)
	}
	return d.Driver.Commit(ctx, tx)
}

// interrupted is open, where others may do something meanwhile.
func interrupted(t *testing.T) (door, *meanwhile) {
	t.Helper()
	m := &meanwhile{}
	d := door{System: system.StartWith(t, system.Options{
		Planner: func(p recompute.Planner) recompute.Planner { return interruptedPlanner{p, m} },
		Storage: func(t testing.TB, s *system.System) (landscape.Driver, payload.Backend) {
			driver, backend := system.On(storages.SQLiteFiles)(t, s)
			return interruptedDriver{driver, m}, backend
		},
	})}
	return d.has(t, fewRows), m
}

// waits asks for the run b, which waits for a place that there is by then, and is not told.
func (d door) waits(t *testing.T) func() workflows.RunResult {
	t.Helper()
	handle := d.ask(t, "b", one("cancel")+"pools: {db: 1}\n")
	d.becomes(t, "b", landscape.StartWaiting)
	d.limit(t, 1)
	return func() workflows.RunResult { return result(t, handle) }
}

func (d door) limit(t *testing.T, places int64) {
	t.Helper()
	require.NoError(t, d.Log.SetLimit(t.Context(), landscape.Limit{Gate: landscape.PoolGate("db"), Places: places, Actor: "ann", Why: "to see"}))
}

// takesPlaceOfB asks for the run c on the terms of b, as another process does: it takes its place.
func (d door) takesPlaceOfB(t *testing.T) {
	start, err := d.Log.LastStart(t.Context(), "b")
	require.NoError(t, err)
	require.NoError(t, d.Log.Accept(t.Context(), landscape.Start{Run: "c", Params: "{}"}))
	want := admit.Want{Gate: landscape.RunsGate("", "many", ""), Places: 1, Limit: 1}
	require.Contains(t, start.Terms, want.Gate)
	err = d.Log.Admit(t.Context(), "c", &landscape.Admission{Terms: admit.Terms{Priority: 3, WhenFull: admit.Cancel, Wants: []admit.Want{want}}})
	require.ErrorAs(t, err, new(*landscape.HeldError))
	d.becomes(t, "b", landscape.StartSuperseded)
}

// calledOff records that somebody cancelled the run b while they could not reach its workflow.
func (d door) calledOff(t *testing.T) {
	start, err := d.Log.LastStart(t.Context(), "b")
	require.NoError(t, err)
	start.State, start.Reason = landscape.StartCancelled, "cancelled by ann: too late"
	require.NoError(t, d.Log.CallOff(t.Context(), start))
}

// TestWhatIsDecidedMeanwhileIsRecordedOnce: a run that waits is superseded, or cancelled, just when it asks again, or begins. That is its result, and
// nothing else is on record.
func TestWhatIsDecidedMeanwhileIsRecordedOnce(t *testing.T) {
	d, m := interrupted(t)
	for name, c := range map[string]struct {
		at   *func()
		do   func(*testing.T)
		want workflows.RunResult
	}{
		"superseded as it asks":     {&m.asking, d.takesPlaceOfB, workflows.RunResult{Run: "b", Status: "superseded", Reason: "run c takes its place"}},
		"superseded as it begins":   {&m.begins, d.takesPlaceOfB, workflows.RunResult{Run: "b", Status: "superseded", Reason: "run c takes its place"}},
		"cancelled as it asks":      {&m.asking, d.calledOff, workflows.RunResult{Run: "b", Status: pipeline.Cancelled, Reason: "cancelled by ann: too late"}},
		"cancelled as it begins":    {&m.begins, d.calledOff, workflows.RunResult{Run: "b", Status: pipeline.Cancelled, Reason: "cancelled by ann: too late"}},
		"cancelled while it sleeps": {nil, d.calledOff, workflows.RunResult{Run: "b", Status: pipeline.Cancelled, Reason: "cancelled by ann: too late"}},
	} {
		t.Run(name, func(t *testing.T) {
			d.limit(t, 0)
			before := d.starts(t, "b")
			ended := d.waits(t)
			if c.at == nil {
				c.do(t)
			} else {
				m.set(c.at, func() { c.do(t) })
			}
			require.NoError(t, activities.Wake(t.Context(), d.Temporal, "b"))
			require.Equal(t, c.want, ended())
			starts := d.starts(t, "b")
			require.Len(t, starts, len(before)+1)
			require.Equal(t, c.want.Reason, starts[len(before)].Reason)
			require.Equal(t, string(c.want.Status), d.view(t, "b").Status)
		})
	}
}

func (d door) starts(t *testing.T, run string) []landscape.Start {
	t.Helper()
	starts, err := landscape.Select[landscape.Start](t.Context(), d.Log, run)
	require.NoError(t, err)
	return starts
}

// TestARunThatWasCancelledNeedNotWait: it was cancelled while no worker was there. The next one tells it at once.
func TestARunThatWasCancelledNeedNotWait(t *testing.T) {
	d := open(t)
	ended := d.waits(t)
	d.calledOff(t)
	begun := time.Now()
	runs := recovery.Abandoned{Client: d.Temporal, Namespace: d.Namespace, Log: d.Log}
	require.Eventually(t, func() bool { // Temporal's list may come late
		_, err := runs.All(t.Context())
		require.NoError(t, err)
		open, err := d.Client.Waits(t.Context(), "b")
		require.NoError(t, err)
		require.Nil(t, open)
		return d.view(t, "b").Status == "cancelled"
	}, patience, 10*time.Millisecond)
	require.Equal(t, workflows.RunResult{Run: "b", Status: pipeline.Cancelled, Reason: "cancelled by ann: too late"}, ended())
	require.Less(t, time.Since(begun), patience, "it did not ask by itself")
}

// TestManyRunsTakeEachOthersPlaces asks for many runs at once, of which each takes the place of the one before: each gives way once, in the queue or as it
// runs, but for the last.
func TestManyRunsTakeEachOthersPlaces(t *testing.T) {
	sample.Rarely(t)
	d := open(t)
	begun := time.Now()
	handles := map[string]client.WorkflowRun{}
	for i := range 40 {
		run := fmt.Sprintf("r%02d", i)
		handles[run] = d.ask(t, run, one("cancel"))
	}
	ended := map[pipeline.RunStatus]int{}
	for run, handle := range handles {
		status := result(t, handle).Status
		ended[status]++
		require.Contains(t, []pipeline.RunStatus{pipeline.Completed, pipeline.Cancelled, "superseded"}, status, run)
		require.Len(t, d.starts(t, run), 1, run)
	}
	require.Positive(t, ended[pipeline.Completed])
	require.Less(t, time.Since(begun), patience, "the last one was told that there is a place, and did not ask by itself")
	t.Log(ended)
}
