package activities_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/pipeline"
)

// TestAnOpeningThatGoesOnLate holds an attempt at OpenRun up just before or just after it makes a target ready, until another
// process brought the run so far. It takes nothing away that others wrote, and leaves nothing behind.
func TestAnOpeningThatGoesOnLate(t *testing.T) {
	publish := func(other *rig) {
		for _, sink := range other.playWrites().Sinks {
			call[none](other, act.Publish, activities.PublishInput{Sink: sink.Name})
		}
	}
	for name, others := range map[string]func(other *rig){
		"opened":    func(other *rig) { call[resumepoint.Plan](other, act.OpenRun, other.open()) },
		"wrote":     func(other *rig) { other.playWrites() },
		"published": publish,
		"finished":  func(other *rig) { other.play() },
	} {
		for _, before := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t, ordersDocument, ordersFiles)
				e := watch(r)
				other := *r
				other.restart()
				hook := func() { others(&other) }
				if before {
					e.opening = hook
				} else {
					e.opened = hook
				}
				call[resumepoint.Plan](r, act.OpenRun, r.open())
				require.Equal(t, pipeline.CompletedWithFailures, other.play().Status)
				require.Equal(t, []string{
					"ledger.jsonl", "refused/manifest.json", "refused/part-00000.csv", "refused/part-00001.csv", "review.csv",
				}, slices.Sorted(maps.Keys(r.outputs())))
			})
		}
	}
}

// TestAnOpeningThatGoesOnAfterTheEnd ends the run permanently while an attempt is on to making a target ready.
func TestAnOpeningThatGoesOnAfterTheEnd(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	e := watch(r)
	e.opening = func() {
		other := *r
		other.restart()
		call[none](&other, act.StopRun, activities.StopInput{Run: runID, Status: pipeline.Cancelled, Reason: "no need", Final: true, Actor: "bob", Why: "no need"})
	}
	call[resumepoint.Plan](r, act.OpenRun, r.open())
	call[none](r, act.StopRun, activities.StopInput{Run: runID, Status: pipeline.Cancelled, Reason: "no need", Final: true, Actor: "bob", Why: "no need"})
	require.Empty(t, r.outputs())
}

// TestAnOrderIsOnRecordOnce records an order by two attempts, and the same order again that came later.
func TestAnOrderIsOnRecordOnce(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	call[resumepoint.Plan](r, act.OpenRun, r.open())
	order := activities.ActionInput{Run: runID, Verb: "pause", Actor: "bob", Why: "lunch", At: 1_800_000_000_000_000}
	for range 2 {
		call[none](r, act.RecordAction, order)
	}
	order.At = 1_900_000_000_000_000
	call[none](r, act.RecordAction, order)
	order.Epoch = 1
	_, err := try[none](r, act.RecordAction, order)
	requireFinal(t, err, activities.TypeSuperseded)
	actions, err := r.log.Actions(t.Context(), runID)
	require.NoError(t, err)
	require.Len(t, actions, 2)
}
