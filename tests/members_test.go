package tests

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/system"
	"waymark/worker"
	"waymark/workflows"
)

// shared has enough chunks for several processes.
const shared = `
name: shared
chunk: {rows: 1000}
sources: {orders: {csv: {path: orders.csv}, schema: {fields: {id: int, name: string}}}}
steps: [{name: big, set: {large: row.id > 1500}}]
sinks: {all: {csv: {path: out/all.csv}}}
`

func sharedRows(rows int) string {
	var text strings.Builder
	text.WriteString("id,name\n")
	for i := range rows {
		fmt.Fprintf(&text, "%d,customer %d\n", i, i%977)
	}
	return text.String()
}

// takers returns how many attempts of each activity each process made, by activity and identity.
func takers(t *testing.T, s *system.System, workflow string) map[string]map[string]int {
	t.Helper()
	names, found := map[int64]string{}, map[string]map[string]int{}
	for _, event := range system.Events(t, s.Temporal, workflow, "") {
		if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
			names[event.GetEventId()] = scheduled.GetActivityType().GetName()
		}
		if started := event.GetActivityTaskStartedEventAttributes(); started != nil {
			name := names[started.GetScheduledEventId()]
			if found[name] == nil {
				found[name] = map[string]int{}
			}
			found[name][started.GetIdentity()]++
		}
	}
	return found
}

func TestProcessesThatSeeTheSameFilesShareARun(t *testing.T) {
	alone := system.Start(t, nil)
	team := system.StartWith(t, system.Options{Members: []worker.Member{{Files: "disk"}, {Files: "disk"}}})
	for _, s := range []*system.System{alone, team} {
		s.Write(t, map[string]string{"orders.csv": sharedRows(4_000)})
		result, err := s.Run(t, "r1", shared)
		require.NoError(t, err)
		require.EqualValues(t, 4_000, result.Rows)
		s.Verify(t, "r1")
	}
	require.Equal(t, alone.Read(t, "out/all.csv"), team.Read(t, "out/all.csv"))
	did := takers(t, team, workflows.WorkflowID("r1"))
	require.Len(t, did["Read"], 1, "one process reads")
	require.Equal(t, did["Pass"], did["Write"], "parts are written by the process that made them")
}

func TestARunGoesOnWithoutTheProcessThatLeft(t *testing.T) {
	sample.Rarely(t)
	t.Parallel() // it waits for a process that does not come
	s := system.StartWith(t, system.Options{Members: []worker.Member{{Files: "disk"}, {Files: "disk"}}})
	s.Write(t, map[string]string{"orders.csv": sharedRows(20_000)})
	run := s.Begin(t, "r1", shared)
	require.Eventually(t, func() bool {
		progress, err := s.Log.Progress(context.Background(), "r1")
		return err == nil && progress.Rows > 5_000
	}, patience, 5*time.Millisecond)
	for home := range takers(t, s, run.Workflow)["Read"] {
		for _, member := range s.Members {
			if member.Place.OwnQueue == home {
				member.Leave()
			}
		}
	}
	result, err := system.End(t, run)
	require.NoError(t, err)
	require.EqualValues(t, 20_000, result.Rows)
	require.Len(t, takers(t, s, run.Workflow)["Read"], 2, "the other process read on")
	s.Verify(t, "r1")
}

func TestOnlyProcessesThatSeeTheFilesDoTheRun(t *testing.T) {
	s := system.StartWith(t, system.Options{Members: []worker.Member{{Files: "here"}, {Files: "there"}}, Files: "there"})
	s.Write(t, map[string]string{"orders.csv": sharedRows(2_000)})
	_, err := s.Run(t, "r1", shared)
	require.NoError(t, err)
	for activity, did := range takers(t, s, workflows.WorkflowID("r1")) {
		require.NotContains(t, did, s.Members[0].Place.OwnQueue, activity)
	}
}

func TestADeployedPipelineIsRunByItsName(t *testing.T) {
	folder := t.TempDir()
	s := system.StartWith(t, system.Options{Members: []worker.Member{{Files: "disk", Pipelines: folder}}})
	s.Folder = folder
	s.Write(t, map[string]string{"shared/pipeline.yaml": shared, "shared/orders.csv": sharedRows(3_000)})
	var result workflows.RunResult
	require.NoError(t, system.Execute(t, s.Temporal, "started-by-a-person", map[string]any{"pipeline": "shared"}).Get(t.Context(), &result))
	require.EqualValues(t, 3_000, result.Rows)
	s.Verify(t, result.Run)
	require.NotEmpty(t, takers(t, s, workflows.WorkflowID(result.Run)), "the run is a workflow under its own id")
	start, err := s.Log.StartOfWorkflow(t.Context(), "started-by-a-person")
	require.NoError(t, err)
	require.Equal(t, []any{result.Run, "shared", landscape.StartBegun}, []any{start.Run, start.Pipeline, start.State})
	found, err := s.Client.Find(t.Context(), "started-by-a-person")
	require.NoError(t, err)
	require.Equal(t, result.Run, found.ID)

	again := map[string]any{"pipeline": "shared", "run": result.Run, "why": "to see"}
	require.ErrorContains(t, system.Execute(t, s.Temporal, result.Run[:8], again).Get(t.Context(), nil), "RUN_EXISTS")
	start, err = s.Log.LastStart(t.Context(), result.Run)
	require.NoError(t, err)
	require.Equal(t, []any{int64(1), landscape.StartRefused, activities.TypeExists, "to see", result.Run[:8]},
		[]any{start.Seq, start.State, start.Refusal, start.Why, start.Workflow})
	_, err = s.Client.Find(t.Context(), result.Run[:8])
	require.ErrorContains(t, err, "workflow "+result.Run[:8]+": run "+result.Run+" did not begin", "the id of a workflow is not the beginning of one of a run")
	found, err = s.Client.Find(t.Context(), result.Run[:9])
	require.NoError(t, err)
	require.Equal(t, result.Run, found.ID)

	for name, says := range map[string]string{
		"nobody": `no pipeline "nobody" is deployed in default`, "../shared": `"../shared" is not the name of a pipeline`, "": "the input's pipeline is empty",
	} {
		require.ErrorContains(t, system.Execute(t, s.Temporal, "", map[string]any{"pipeline": name}).Get(t.Context(), nil), says)
	}
}

// TestAnInputThatIsRefusedLeavesItsReason starts runs as people do who know neither Go nor our types.
func TestAnInputThatIsRefusedLeavesItsReason(t *testing.T) {
	folder := t.TempDir()
	s := system.StartWith(t, system.Options{Members: []worker.Member{{Files: "disk", Pipelines: folder}}})
	s.Folder = folder
	s.Write(t, map[string]string{"shared/pipeline.yaml": strings.Replace(shared, "name: shared", "name: shared\nparams: {limit: {type: int, default: 0}}", 1), "shared/orders.csv": sharedRows(10)})
	inputs := map[string]any{
		`unknown key "param" (did you mean "params"?)`:       map[string]any{"pipeline": "shared", "param": map[string]any{"limit": 1}},
		`"q/../y" cannot be the id of a run`:                 map[string]any{"pipeline": "shared", "run": "q/../y"},
		`"last" cannot be the id of a run`:                   map[string]any{"pipeline": "shared", "run": "last"},
		`the input's pipeline must be a string`:              map[string]any{"pipeline": []string{"shared"}},
		`the input is no object: write {"pipeline": "NAME"}`: "shared",
		`(did you mean "shared"?)`:                           map[string]any{"pipeline": "shraed"},
	}
	inputs["no parameter named"] = map[string]any{"pipeline": "shared", "params": map[string]any{"nobody": 1}}
	inputs["is not a valid int"] = map[string]any{"pipeline": "shared", "params": map[string]any{"limit": json.Number("12.0")}}
	pointers := map[string]string{"no parameter named": "/params/nobody", "is not a valid int": "/params/limit"}
	types := map[string]string{`(did you mean "shared"?)`: activities.TypeNoPipeline}
	for says, input := range inputs {
		handle := system.Execute(t, s.Temporal, "", input)
		err := handle.Get(t.Context(), nil)
		require.ErrorContains(t, err, says)
		var application *temporal.ApplicationError
		require.ErrorAs(t, err, &application)
		require.Equal(t, cmp.Or(types[says], activities.TypeInput), application.Type(), says)
		var problem activities.Problem
		require.NoError(t, application.Details(&problem))
		if application.Type() == activities.TypeInput {
			require.NotEmpty(t, problem.Errors, says)
			require.Contains(t, problem.Errors[0].Pointer, pointers[says], says)
		}
		start, err := s.Log.StartOfWorkflow(t.Context(), handle.GetID())
		require.NoError(t, err, says)
		require.Equal(t, []any{landscape.StartRefused, application.Type(), application.Message(), activities.TriggerTemporal},
			[]any{start.State, start.Refusal, start.Reason, start.Trigger}, says)
		_, err = s.Client.Find(t.Context(), handle.GetID())
		require.ErrorContains(t, err, "did not begin: it was refused")
		require.ErrorContains(t, err, says)
	}
	runs, err := s.Log.RecentRuns(t.Context(), nil, 0)
	require.NoError(t, err)
	require.Empty(t, runs)
	require.NoDirExists(t, filepath.Join(folder, "shared", "out"))
}

// TestAKeyMeansOneRun starts a run as often as a service does that does not know whether it has, also at the same time.
func TestAKeyMeansOneRun(t *testing.T) {
	folder := t.TempDir()
	s := system.StartWith(t, system.Options{Members: []worker.Member{{Files: "disk", Pipelines: folder}}})
	s.Folder = folder
	keyed := strings.NewReplacer(
		"name: shared", "name: shared\nparams: {least: {type: int, default: 0}}", "1500", "param.least",
		"all.csv", "all.csv, overwrite: true").Replace(shared)
	s.Write(t, map[string]string{"shared/pipeline.yaml": keyed, "shared/orders.csv": sharedRows(1_200)})
	input := map[string]any{"pipeline": "shared", "key": "order-4711"}
	var handles []sdk.WorkflowRun
	for range 50 / sample.Step(10) {
		handles = append(handles, system.Execute(t, s.Temporal, "", input))
	}
	var want workflows.RunResult
	require.NoError(t, handles[0].Get(t.Context(), &want))
	keyedRun := activities.RunOfKey("shared", "order-4711")
	require.Equal(t, []any{keyedRun, pipeline.Completed, int64(1_200)}, []any{want.Run, want.Status, want.Rows})
	require.Equal(t, "all", want.Outputs[0].Sink)
	for _, handle := range append(handles, system.Execute(t, s.Temporal, "late", input)) {
		var result workflows.RunResult
		require.NoError(t, handle.Get(t.Context(), &result))
		require.Equal(t, want, result)
	}
	runs, err := s.Log.RecentRuns(t.Context(), nil, 0)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	start, err := s.Log.LastStart(t.Context(), want.Run)
	require.NoError(t, err)
	require.Equal(t, []any{"order-4711", int64(0), landscape.StartBegun}, []any{start.Key, start.Seq, start.State})

	var application *temporal.ApplicationError
	input["params"] = map[string]any{"least": 1}
	require.ErrorAs(t, system.Execute(t, s.Temporal, "other", input).Get(t.Context(), nil), &application)
	require.Equal(t, workflows.TypeKeyReused, application.Type())
	require.Contains(t, application.Message(), "with other values of the parameters least: give another key")
	require.Equal(t, workflows.View{Status: "refused", Reason: application.Message()}, asked(t, s, "other"), "the run is that of another start")
	start, err = s.Log.StartOfWorkflow(t.Context(), "other")
	require.NoError(t, err)
	require.Equal(t, []any{want.Run, landscape.StartRefused, workflows.TypeKeyReused}, []any{start.Run, start.State, start.Refusal})

	failing := map[string]any{"pipeline": "shared", "key": "order-4712", "params": map[string]any{"least": "many"}}
	for range 2 {
		require.ErrorContains(t, system.Execute(t, s.Temporal, "", failing).Get(t.Context(), nil), "least")
	}
	failing["params"] = map[string]any{"least": 2}
	var result workflows.RunResult
	require.NoError(t, system.Execute(t, s.Temporal, "", failing).Get(t.Context(), &result), "no run came of what was refused")
	require.Equal(t, activities.RunOfKey("shared", "order-4712"), result.Run)
}

// TestAVersionIsRunByWorkersWithoutItsFolder deploys a pipeline from a folder that is gone when workers execute it, and one of a name that a
// worker has a file for.
func TestAVersionIsRunByWorkersWithoutItsFolder(t *testing.T) {
	folder, data := t.TempDir(), t.TempDir()
	allowing := func(p recompute.Planner) recompute.Planner {
		planner := p.(worker.Planner)
		planner.Allow = []string{data}
		return planner
	}
	s := system.StartWith(t, system.Options{Members: []worker.Member{{Files: "disk", Pipelines: folder}}, Planner: allowing})
	s.Folder = folder
	s.Write(t, map[string]string{"shared/pipeline.yaml": shared, "shared/orders.csv": sharedRows(30)})
	deploy := func(rows string, n int) *client.Deployed {
		gone := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(data, "in.csv"), []byte(sharedRows(n)), 0o600))
		document := strings.NewReplacer("orders.csv", filepath.Join(data, "in.csv"), "path: out", "overwrite: true, path: "+data).Replace(shared)
		require.NoError(t, os.WriteFile(filepath.Join(gone, "any.yaml"), []byte("# "+rows+"\n"+document), 0o600))
		deployed, err := s.Client.Deploy(t.Context(), client.DeployRequest{By: client.By{Actor: "ann"}, File: filepath.Join(gone, "any.yaml")})
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(gone))
		return deployed
	}
	require.EqualValues(t, 1, deploy("few", 10).Version)
	require.EqualValues(t, 2, deploy("more", 20).Version)
	for name, version := range map[string]int64{"shared": 2, "shared@1": 1, "shared@2": 2} {
		var result workflows.RunResult
		require.NoError(t, system.Execute(t, s.Temporal, "", map[string]any{"pipeline": name}).Get(t.Context(), &result), name)
		require.EqualValues(t, 20, result.Rows, "not the 30 of the worker's own folder")
		run, err := s.Log.Run(t.Context(), result.Run)
		require.NoError(t, err)
		require.Equal(t, []any{version, "shared", "any.yaml", ""}, []any{run.Version, run.Pipeline, run.File, run.BaseDir}, name)
		s.Verify(t, result.Run)
	}
	for name, says := range map[string]string{
		"shared@3": "pipeline shared has no version 3; its current one is 2", "nobody@1": `no pipeline "nobody" is deployed in default`,
	} {
		require.ErrorContains(t, system.Execute(t, s.Temporal, "", map[string]any{"pipeline": name}).Get(t.Context(), nil), says)
	}
	version, err := s.Log.Version(t.Context(), "shared", 1)
	require.NoError(t, err)
	bundle, err := s.Log.Bundle(t.Context(), version.Bundle)
	require.NoError(t, err)
	claimed := map[string]any{"document": bundle.Document, "file": "x", "version": 2, "bundle": bundle.SHA256}
	require.ErrorContains(t, system.Execute(t, s.Temporal, "", claimed).Get(t.Context(), nil), "is not version 2 of the pipeline shared")
}
