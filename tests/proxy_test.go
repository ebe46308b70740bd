package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/activities/recompute"
	api "waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/system"
	"waymark/worker"
	"waymark/workflows"
)

// offering is a Waymark whose worker has these files in its folder of pipelines. Documents may use the folders that are allowed.
func offering(t *testing.T, files map[string]string, allowed ...string) *system.System {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	allowing := func(p recompute.Planner) recompute.Planner {
		planner := p.(worker.Planner)
		planner.Allow = allowed
		return planner
	}
	return system.StartWith(t, system.Options{Members: []worker.Member{{Pipelines: folder}}, Planner: allowing})
}

// asked asks a workflow how its run is.
func asked(t *testing.T, s *system.System, workflow string) (view workflows.View) {
	t.Helper()
	answer, err := s.Temporal.QueryWorkflow(t.Context(), workflow, "", workflows.ProgressQuery)
	require.NoError(t, err)
	require.NoError(t, answer.Get(&view))
	return view
}

// TestOrdersUnderAnyID: two workflows that services started, each under an id of its own, and with the same key, answer and obey for their run.
func TestOrdersUnderAnyID(t *testing.T) {
	s := offering(t, map[string]string{"recorded.yaml": recorded, "in.csv": canaries(40_000, false)})
	input := map[string]any{"pipeline": "recorded", "key": "k"}
	started := system.Execute(t, s.Temporal, "ann-wants", input)
	order := map[string]any{"actor": "ann", "why": "to see"}
	require.NoError(t, system.Give(t, s.Temporal, "ann-wants", workflows.PauseUpdate, order), "as early as it likes")
	view := asked(t, s, "ann-wants")
	run := workflows.WorkflowID(view.Run)
	require.Equal(t, workflows.View{Run: view.Run, Workflow: run, Status: "paused", Paused: &workflows.Command{Actor: "ann", Why: "to see"}}, view)
	again := map[string]any{"actor": "bob", "why": "he did not look"}
	require.NoError(t, system.Give(t, s.Temporal, "ann-wants", workflows.PauseUpdate, again), "so it is")
	require.NoError(t, system.Give(t, s.Temporal, run, workflows.PauseUpdate, again))
	require.Equal(t, view, asked(t, s, "ann-wants"), "the pause stays that of who paused it")
	own := asked(t, s, run)
	require.Equal(t, view.Paused, own.Paused)
	require.Equal(t, "paused", own.Status)
	require.NotNil(t, own.Progress)
	require.Contains(t, currentDetails(t, s, "ann-wants"), "the workflow `"+run+"`")

	joined := system.Execute(t, s.Temporal, "bob-wants", input)
	require.ErrorContains(t, system.Give(t, s.Temporal, "bob-wants", workflows.ContinueUpdate, map[string]any{"actor": "bob", "why": "x", "force": true}), `the unknown key "force"`)
	require.ErrorContains(t, system.Give(t, s.Temporal, "bob-wants", workflows.ContinueUpdate, map[string]any{"actor": "bob"}), "does not say why")
	require.NoError(t, system.Give(t, s.Temporal, "bob-wants", workflows.ContinueUpdate, map[string]any{"actor": "bob", "why": "go"}))
	require.NoError(t, system.Give(t, s.Temporal, "bob-wants", workflows.ContinueUpdate, again), "so it is")
	require.Equal(t, "running", asked(t, s, run).Status)
	require.NoError(t, system.Give(t, s.Temporal, "bob-wants", workflows.CancelUpdate, order))
	var result workflows.RunResult
	require.NoError(t, started.Get(t.Context(), &result))
	require.Equal(t, pipeline.Cancelled, result.Status)
	require.ErrorContains(t, joined.Get(t.Context(), nil), "is cancelled")

	for _, workflow := range []string{run, "ann-wants", "bob-wants"} {
		require.Equal(t, string(pipeline.Cancelled), asked(t, s, workflow).Status, workflow)
	}
	actions, err := s.Log.Actions(t.Context(), view.Run)
	require.NoError(t, err)
	var verbs []string
	for _, action := range actions {
		verbs = append(verbs, action.Actor+" "+action.Verb)
	}
	require.Equal(t, []string{"ann " + landscape.VerbPause, "bob " + landscape.VerbContinue, "ann cancel"}, verbs)
	for _, workflow := range []string{"ann-wants", "bob-wants"} {
		requireNoFailedTask(t, system.Events(t, s.Temporal, workflow, ""))
	}
}

// startPaused starts a workflow for a run, with an order to pause it that is there before its first task. It returns
// when the run is paused.
func startPaused(t *testing.T, c client.Client, id string, input, order any) (client.WorkflowRun, error) {
	t.Helper()
	start := c.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.TaskQueue, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
	}, workflows.RunPipelineName, input)
	update, err := c.UpdateWithStartWorkflow(t.Context(), client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateName:   workflows.PauseUpdate,
			Args:         []any{order},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err == nil {
		err = update.Get(t.Context(), nil)
	}
	started, failed := start.Get(t.Context())
	require.NoError(t, failed)
	return started, err
}

// TestAnOrderThatComesWithTheStart is obeyed when the run is open; and ends with the reason if it is not opened.
func TestAnOrderThatComesWithTheStart(t *testing.T) {
	s := offering(t, map[string]string{"recorded.yaml": recorded, "in.csv": canaries(150, false)})
	order := map[string]any{"actor": "ann", "why": "to see"}
	started, err := startPaused(t, s.Temporal, "run-r", map[string]any{"pipeline": "recorded", "run": "r"}, order)
	require.NoError(t, err)
	require.Equal(t, "paused", asked(t, s, started.GetID()).Status)
	require.NoError(t, system.Give(t, s.Temporal, started.GetID(), workflows.ContinueUpdate, order))
	require.NoError(t, started.Get(t.Context(), nil))
	requireNoFailedTask(t, system.Events(t, s.Temporal, started.GetID(), ""))

	refused, err := startPaused(t, s.Temporal, "run-s", map[string]any{"pipeline": "nothing", "run": "s"}, order)
	require.ErrorContains(t, err, "run s did not begin: ")
	require.Error(t, refused.Get(t.Context(), nil))
	require.Equal(t, "refused", asked(t, s, refused.GetID()).Status)
}

// TestOnePersonCancelsNoRunForGood: if that needs several, Temporal's own update is refused, and the run goes on.
func TestOnePersonCancelsNoRunForGood(t *testing.T) {
	s := offering(t, map[string]string{"recorded.yaml": recorded, "in.csv": canaries(150, false)})
	order := map[string]any{"actor": "ann", "why": "to see"}
	started, err := startPaused(t, s.Temporal, "run-r", map[string]any{"pipeline": "recorded", "run": "r"}, order)
	require.NoError(t, err)
	_, err = s.Log.Rule(t.Context(), landscape.ApprovalRule{Verb: landscape.OrderCancel, Persons: 2, Actor: "ann",
		Why: "four eyes"})
	require.NoError(t, err)
	err = system.Give(t, s.Temporal, started.GetID(), workflows.CancelUpdate, map[string]any{"actor": "ann", "why": "to see", "final": true})
	var refused *temporal.ApplicationError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, activities.TypeCommandRefused, refused.Type())
	require.ErrorContains(t, err, "cancel_final needs 2 persons")
	require.Equal(t, "paused", asked(t, s, started.GetID()).Status)
	require.NoError(t, system.Give(t, s.Temporal, started.GetID(), workflows.ContinueUpdate, order))
	require.NoError(t, started.Get(t.Context(), nil))
	requireNoFailedTask(t, system.Events(t, s.Temporal, started.GetID(), ""))
	s.Verify(t, "r")
}

// TestAnOrderToARunThatDoesNotBegin is refused with the state of the run, and keeps nobody waiting.
func TestAnOrderToARunThatDoesNotBegin(t *testing.T) {
	s := offering(t, nil)
	started := system.Execute(t, s.Temporal, "ann-wants", map[string]any{"pipeline": "nothing"})
	begun := time.Now()
	err := system.Give(t, s.Temporal, "ann-wants", workflows.CancelUpdate, map[string]any{"actor": "ann", "why": "to see"})
	require.Error(t, err)
	require.Less(t, time.Since(begun), patience)
	require.Error(t, started.Get(t.Context(), nil))
	require.Equal(t, "refused", asked(t, s, "ann-wants").Status)

	// The start of a run is recorded before its workflow is started, if a process serves: that may end before its worker comes.
	for _, gone := range []func() bool{nil, func() bool { return false }} {
		connection := api.Connect(s.Temporal, client.Options{Namespace: s.Namespace}, "here")
		session := api.Session{Connection: connection, Log: s.Log, Queue: "later", Gone: gone, Actor: "ann"}
		run := fmt.Sprint("served-", gone != nil)
		_, err := session.Start(t.Context(), api.StartRequest{Run: run, Pipeline: "nothing"})
		require.NoError(t, err)
		start, err := s.Log.LastStart(t.Context(), run)
		require.Equal(t, gone != nil, err == nil, "%v", err)
		require.Equal(t, gone != nil, start.State == landscape.StartAccepted && start.Environment == landscape.DefaultEnvironment && start.Workflow == "run-"+run)
	}

	// One that was cancelled while nobody served begins no run later. Another one may.
	cancelled, err := s.Log.LastStart(t.Context(), "served-true")
	require.NoError(t, err)
	cancelled.State, cancelled.Reason = landscape.StartCancelled, "cancelled by ann: not today"
	require.NoError(t, s.Log.CallOff(t.Context(), cancelled))
	late := worker.New(s.Temporal, "later", activities.New(s.Log, s.Payloads, s.Planner, "test"))
	require.NoError(t, late.Start())
	t.Cleanup(late.Stop)
	var result workflows.RunResult
	require.NoError(t, s.Temporal.GetWorkflow(t.Context(), "run-served-true", "").Get(t.Context(), &result))
	require.Equal(t, []any{pipeline.Cancelled, cancelled.Reason}, []any{result.Status, result.Reason})
	last, err := s.Log.LastStart(t.Context(), "served-true")
	require.NoError(t, err)
	require.Equal(t, []any{cancelled.Seq, cancelled.State}, []any{last.Seq, last.State})
	require.ErrorContains(t, system.Execute(t, s.Temporal, "run-served-true", map[string]any{"pipeline": "nothing", "run": "served-true"}).Get(t.Context(), nil), "no pipeline")
}

// TestAKeyIsTakenBeforeItsRunBegins: who asks under a key for something else than the start that waits learns that at once, and that start stays.
func TestAKeyIsTakenBeforeItsRunBegins(t *testing.T) {
	s := offering(t, nil)
	run := activities.RunOfKey("orders", "k")
	require.NoError(t, s.Log.Accept(t.Context(), landscape.Start{Run: run, Pipeline: "orders", Params: `{"day":"1"}`, Workflow: "first", Key: "k"}))
	input := map[string]any{"pipeline": "orders", "key": "k", "why": "a test", "params": map[string]any{"day": "2"}}
	var application *temporal.ApplicationError
	require.ErrorAs(t, system.Execute(t, s.Temporal, "second", input).Get(t.Context(), nil), &application)
	require.Equal(t, workflows.TypeKeyReused, application.Type())
	require.Contains(t, application.Message(), "other values of the parameters day")
	start, err := s.Log.LastStart(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, []any{landscape.StartAccepted, "first"}, []any{start.State, start.Workflow})
	refused, err := s.Log.StartOfWorkflow(t.Context(), "second")
	require.NoError(t, err)
	require.Equal(t, []any{landscape.StartRefused, workflows.TypeKeyReused, "a test"}, []any{refused.State, refused.Refusal, refused.Why})
}

// TestARefusedInputKeepsWhatCouldBeRead of it: parameters and the reason.
func TestARefusedInputKeepsWhatCouldBeRead(t *testing.T) {
	s := offering(t, nil)
	input := map[string]any{"pipelines": "orders", "why": "month end", "params": map[string]any{"day": 2, "of": []int{1}}}
	require.Error(t, system.Execute(t, s.Temporal, "ann-tries", input).Get(t.Context(), nil))
	start, err := s.Log.StartOfWorkflow(t.Context(), "ann-tries")
	require.NoError(t, err)
	require.Equal(t, []string{"month end", `{"day":"2"}`}, []string{start.Why, start.Params})
}
