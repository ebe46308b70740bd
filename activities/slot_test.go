package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/activities/bundle"
	"waymark/landscape"
	"waymark/payload"
)

// ofSchedule is a document with what its schedules are.
func ofSchedule(schedules string) []byte {
	return []byte(`name: x
params: {to: {type: string, default: "${slot:end}"}}
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int}}}}
sinks: {out: {csv: {path: out.csv}}}
` + schedules)
}

// deployMinutes deploys a pipeline with a schedule that fires every minute.
func deployMinutes(t *testing.T, a *Activities) {
	t.Helper()
	of := bundle.Bundle{Name: "x.yaml", Source: ofSchedule("schedules: {beat: {every: minute}}\n")}
	manifest := of.Manifest()
	stored := landscape.Bundle{
		SHA256: string(payload.Of(manifest.JSON())), Document: string(payload.Of(of.Source)),
		Manifest: string(manifest.JSON()), Files: 1, Bytes: manifest.Bytes(),
	}
	version := landscape.PipelineVersion{Pipeline: "x", Actor: "ann", Code: "test", Host: "here"}
	_, err := a.log.Deploy(t.Context(), landscape.DefaultEnvironment, stored, version)
	require.NoError(t, err)
	id := landscape.ScheduleID(landscape.DefaultEnvironment, "x", "beat")
	err = a.log.ChangeSchedule(t.Context(), id, func(*landscape.Schedule) (*landscape.Schedule, error) {
		return &landscape.Schedule{
			Environment: landscape.DefaultEnvironment, Pipeline: "x", Name: "beat", Action: landscape.SetSchedule,
			Spec: `{"Every":{"Word":"minute"}}`, Version: 1, Origin: landscape.FromDocument,
		}, nil
	})
	require.NoError(t, err)
}

// runMinute records a slot of a minute, with its run, and returns the input of that.
func runMinute(t *testing.T, a *Activities, name, run string) OpenInput {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04Z", name)
	require.NoError(t, err)
	from := landscape.MicrosOf(at)
	to := landscape.MicrosOf(at.Add(time.Minute))
	due := landscape.Slot{
		Schedule: landscape.ScheduleID(landscape.DefaultEnvironment, "x", "beat"), Name: name,
		SlotFacts: landscape.SlotFacts{From: from, To: to, Due: to, Ready: to, Fired: true, State: landscape.SlotDue},
	}
	require.NoError(t, a.log.ChangeSlots(t.Context(), nil, []landscape.SlotChange{{To: due}}))
	due, err = a.log.Slot(t.Context(), due.Schedule, name)
	require.NoError(t, err)
	running := due
	running.State, running.Run, running.Attempts = landscape.SlotRunning, run, 1
	require.NoError(t, a.log.ChangeSlots(t.Context(), nil, []landscape.SlotChange{{From: &due, To: running}}))
	return OpenInput{
		Run: run, Pipeline: "x", Environment: landscape.DefaultEnvironment, Version: 1, ScheduleName: "beat", For: name,
	}
}

// The run of a recorded slot covers the time on record, even if the schedule was edited or removed while the run waited.
func TestARunIsOfTheSlotThatIsRecorded(t *testing.T) {
	a := flyer(t)
	deployMinutes(t, a)
	first, second := runMinute(t, a, "2026-11-30T16:49Z", "r1"), runMinute(t, a, "2026-11-30T16:50Z", "r2")
	for name, schedules := range map[string]string{
		"as it was": "schedules: {beat: {every: minute}}\n",
		"edited":    "schedules: {beat: {every: 5m}}\n",
		"removed":   "",
		"renamed":   "schedules: {pulse: {every: minute}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			for end, in := range map[string]OpenInput{"2026-11-30T16:50:00Z": first, "2026-11-30T16:51:00Z": second} {
				in, about, err := a.aboutSlot(t.Context(), in, "x.yaml", ofSchedule(schedules))
				require.NoError(t, err)
				require.Equal(t, Params{"to": end}, in.Params)
				require.Equal(t, end, about.fresh.To.Time().Format(time.RFC3339))
			}
		})
	}

	second.Run = "stranger"
	_, err := a.about(t.Context(), second, "x.yaml", ofSchedule(""))
	require.ErrorContains(t, err, "has no schedules", "its schedule did not begin this run")
}

// The run of a slot that waits when the pipeline is retired begins all the same; none that is requested later does.
func TestARunThatWaitsOutlivesItsPipeline(t *testing.T) {
	a := flyer(t)
	deployMinutes(t, a)
	requested, late := runMinute(t, a, "2026-11-30T16:49Z", "r1"), runMinute(t, a, "2026-11-30T16:50Z", "r2")
	accept := func(run string) {
		start := landscape.Start{Run: run, Pipeline: "x", Environment: landscape.DefaultEnvironment, Params: "{}"}
		require.NoError(t, a.log.Accept(t.Context(), start))
	}
	accept("r1")
	accept("by-hand")
	order := landscape.Deployment{
		Environment: landscape.DefaultEnvironment, Pipeline: "x", Version: 1, Actor: "ann", Why: "the shop moves",
	}
	_, err := a.log.Retire(t.Context(), order)
	require.NoError(t, err)
	accept("r2")

	in, found, err := a.registered(t.Context(), requested)
	require.NoError(t, err)
	require.True(t, found)
	require.EqualValues(t, 1, in.Version)
	_, _, err = a.registered(t.Context(), late)
	require.ErrorContains(t, err, "pipeline x is retired")
	late.Run, late.ScheduleName, late.For = "by-hand", "", ""
	_, _, err = a.registered(t.Context(), late)
	require.ErrorContains(t, err, "pipeline x is retired", "no slot's")
}
