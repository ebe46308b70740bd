package activities_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/landscape"
	"waymark/payload"
	"waymark/payload/memstore"
)

// fellow is one of several processes.
var fellow = activities.Affinity{Files: "disk", FilesQueue: "q@disk", OwnQueue: "q@disk/1"}

// requireForOthers requires that an attempt failed in a way in which another process may succeed.
func requireForOthers(t *testing.T, err error, says string) {
	t.Helper()
	require.ErrorContains(t, err, says)
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.False(t, application.NonRetryable(), "%v", err)
}

// TestOtherPayloadStoreDoesNothing: what it would store nobody would find.
func TestOtherPayloadStoreDoesNothing(t *testing.T) {
	r := newRig(t, simple("quarantine"), map[string]string{"in.csv": simpleRows})
	r.become(activities.NewAt(fellow, r.log, r.payloads, r.planner, "test"))
	call[resumepoint.Plan](r, act.OpenRun, r.open())
	records := r.records()
	objects := new(memstore.Store)
	r.become(activities.NewAt(fellow, r.log, payload.New(objects, payload.Options{}), r.planner, "test"))
	_, err := try[activities.ReadResult](r, act.Read, readInput)
	requireForOthers(t, err, "the payloads of run r1 are not in the payload store of this worker")
	_, err = try[resumepoint.State](r, act.ResumeRun, activities.ResumeInput{Run: runID, Epoch: 1})
	requireForOthers(t, err, "the payloads of run r1 are not in the payload store of this worker")
	require.Equal(t, records, r.records())
	require.NoError(t, objects.Walk(t.Context(), func(key string) error { require.Fail(t, "stored", key); return nil }))
	r.restart()
	call[activities.ReadResult](r, act.Read, readInput)
}

// TestAWorkerOfAnotherLandscapeLeavesRunsToOthers: it knows nothing of them, and ends none.
func TestAWorkerOfAnotherLandscapeLeavesRunsToOthers(t *testing.T) {
	r := newRig(t, simple("quarantine"), map[string]string{"in.csv": simpleRows})
	r.become(activities.NewAt(fellow, r.log, r.payloads, r.planner, "test"))
	call[resumepoint.Plan](r, act.OpenRun, r.open())
	records := r.records()
	elsewhere := landscape.New(newFated(t), ticking())
	r.become(activities.NewAt(fellow, elsewhere, r.payloads, r.planner, "test"))
	_, err := try[activities.ReadResult](r, act.Read, readInput)
	requireForOthers(t, err, "cannot work for run r1, others may: its landscape has no such run")
	require.Equal(t, records, r.records())
	r.become(activities.NewAt(fellow, r.log, r.payloads, r.planner, "test"))
	call[activities.ReadResult](r, act.Read, readInput)
}

// TestWhatOneProcessCannotOthersMay: another fingerprint key, or a variable that is not here, stops no run.
func TestWhatOneProcessCannotOthersMay(t *testing.T) {
	t.Setenv("REGION", "north")
	r := newRig(t, strings.Replace(simple("quarantine"), "out/a.csv", `"out/${REGION}.csv"`, 1), map[string]string{"in.csv": simpleRows})
	writes := r.begin()
	r.become(activities.NewAt(fellow, r.log, r.payloads, planner{key: "another key than theirs is"}, "test"))
	_, err := try[none](r, act.Write, writes[0])
	requireForOthers(t, err, "another program, environment variable, secret or fingerprint key")
	r.become(activities.NewAt(fellow, r.log, r.payloads, planner{key: "a key for tests", confined: true}, "test"))
	_, err = try[none](r, act.Write, writes[0])
	requireForOthers(t, err, "cannot work for the run, others may: ")
	r.restart()
	call[none](r, act.Write, writes[0])
}
