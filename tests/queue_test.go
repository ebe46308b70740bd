package tests

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/fixtures"
	"waymark/tests/sample"
	"waymark/tests/system"
	"waymark/workflows"
	"waymark/workflows/recovery"
)

// one is the document many, of which there is one run at once.
func one(whenFull string) string {
	return many + "concurrency: {runs: 1, when_full: " + whenFull + "}\n"
}

// ask starts the workflow of a run of the document.
func (d door) ask(t *testing.T, run, document string) client.WorkflowRun {
	t.Helper()
	return system.Execute(t, d.Temporal, workflows.WorkflowID(run), d.asking(t, run, document))
}

// asking is the input of a run of the document.
func (d door) asking(t *testing.T, run, document string) workflows.RunInput {
	t.Helper()
	digest, err := d.Payloads.Put(t.Context(), []byte(document))
	require.NoError(t, err)
	return workflows.RunInput{OpenInput: activities.OpenInput{
		Run: run, Document: string(digest), File: "pipeline.yaml", Folder: d.Folder,
	}}
}

// paused begins a run of the document by a workflow with an id, and returns when it is paused, before it read a row.
func (d door) paused(t *testing.T, id, run, document string) client.WorkflowRun {
	t.Helper()
	order := workflows.Command{Actor: "ann", Why: "to see"}
	handle, err := startPaused(t, d.Temporal, id, d.asking(t, run, document), order)
	require.NoError(t, err)
	d.becomes(t, run, landscape.StartBegun)
	return handle
}

// becomes waits until the last start of the run is in the state, and returns it.
func (d door) becomes(t *testing.T, run string, state landscape.StartState) (start landscape.Start) {
	t.Helper()
	require.Eventually(t, func() (is bool) {
		var err error
		start, err = d.Log.LastStart(t.Context(), run)
		return err == nil && start.State == state
	}, patience, 10*time.Millisecond)
	return start
}

// result waits for the end of a run's workflow.
func result(t *testing.T, handle client.WorkflowRun) (result workflows.RunResult) {
	t.Helper()
	require.NoError(t, handle.Get(t.Context(), &result))
	return result
}

// holder begins the run r of the document, paused.
func (d door) holder(t *testing.T, document string) client.WorkflowRun {
	t.Helper()
	return d.paused(t, workflows.WorkflowID("r"), "r", document)
}

func TestARunWaitsForItsTurn(t *testing.T) {
	d := open(t)
	holder := d.holder(t, one("queue"))
	b := d.ask(t, "b", one("queue"))
	start := d.becomes(t, "b", landscape.StartWaiting)
	require.Equal(t, "pipeline:many has 1 place, held by run r", start.Reason)
	require.Contains(t, start.Terms, `{"priority":3,"when_full":"queue","wants":[{"gate":"pipeline:many","places":1,"limit":1},{"gate":"target:`)
	require.Eventually(t, func() bool { // it answers when its first task is done
		var view workflows.View
		answer, err := d.Temporal.QueryWorkflow(t.Context(), workflows.WorkflowID("b"), "", workflows.ProgressQuery)
		return err == nil && answer.Get(&view) == nil && view.Status == "waiting"
	}, patience, 10*time.Millisecond)
	require.Equal(t, start.Reason, d.view(t, "b").Waits)
	c := d.ask(t, "c", one("queue"))
	require.Contains(t, d.becomes(t, "c", landscape.StartWaiting).Reason, "; run b comes before it")

	begun := time.Now()
	d.order(t, workflows.ContinueUpdate)
	for run, handle := range map[string]client.WorkflowRun{"r": holder, "b": b, "c": c} {
		require.Equal(t, pipeline.Completed, result(t, handle).Status, run)
		d.complete(t, run)
	}
	require.Less(t, time.Since(begun), patience, "they were told, and did not ask by themselves")
	r, later := d.run(t, "b"), d.run(t, "c")
	require.LessOrEqual(t, d.run(t, "r").Finished, r.Started)
	require.LessOrEqual(t, r.Finished, later.Started)
}

func TestARunIsSkipped(t *testing.T) {
	d := open(t)
	d.holder(t, one("skip"))
	skipped := result(t, d.ask(t, "b", one("skip")))
	require.Equal(t, workflows.RunResult{Run: "b", Status: "skipped", Reason: "pipeline:many has 1 place, held by run r"}, skipped)
	require.Equal(t, landscape.StartSkipped, d.becomes(t, "b", landscape.StartSkipped).State)
	d.order(t, workflows.ContinueUpdate)
}

// TestARunJoinsAnother: its workflow has the other one's result, and makes itself known to that one's workflow, which tells such workflows when it ends.
func TestARunJoinsAnother(t *testing.T) {
	d := open(t)
	holder := d.holder(t, one("join"))
	b := d.ask(t, "b", one("join"))
	require.Eventually(t, func() bool {
		return slices.Contains(signals(t, d, "r", activities.JoinedSignal), `{"workflow":"run-b"}`)
	}, patience, 10*time.Millisecond)
	d.becomes(t, "b", landscape.StartSkipped)
	mine := system.Execute(t, d.Temporal, "mine", d.asking(t, "c", one("join")))
	for _, id := range []string{b.GetID(), mine.GetID()} {
		d.answers(t, id, workflows.View{Run: "r", Workflow: "run-r", Status: "running"})
	}
	d.limit(t, 0) // so w still waits when the end is signalled
	w := d.ask(t, "w", one("queue")+"pools: {db: 1}\n")
	d.becomes(t, "w", landscape.StartWaiting)
	require.NoError(t, d.Temporal.SignalWorkflow(t.Context(), holder.GetID(), "", activities.JoinedSignal, activities.Joiner{Workflow: w.GetID()}))
	d.order(t, workflows.ContinueUpdate)
	want := result(t, holder)
	require.Equal(t, pipeline.Completed, want.Status)
	for _, joined := range []client.WorkflowRun{b, mine} {
		require.Equal(t, want, result(t, joined))
		d.answers(t, joined.GetID(), workflows.View{Run: "r", Workflow: "run-r", Status: "completed"})
	}
	require.Len(t, signals(t, d, "w", activities.EndedSignal), 1)
	require.NoError(t, d.Temporal.CancelWorkflow(t.Context(), w.GetID(), ""))
	require.ErrorContains(t, w.Get(t.Context(), nil), "canceled")
}

// signals returns the arguments of the signals of a name that the workflow of a run has got.
func signals(t *testing.T, d door, run, name string) (args []string) {
	t.Helper()
	for _, event := range system.Events(t, d.Temporal, workflows.WorkflowID(run), "") {
		if signal := event.GetWorkflowExecutionSignaledEventAttributes(); signal.GetSignalName() == name {
			args = append(args, string(signal.GetInput().GetPayloads()[0].GetData()))
		}
	}
	return args
}

func TestARunTakesThePlaceOfAnother(t *testing.T) {
	d := open(t)
	holder := d.holder(t, one("cancel"))
	b := d.ask(t, "b", one("cancel"))
	gave := result(t, holder)
	require.Equal(t, []any{pipeline.Cancelled, "cancelled by run b: it takes its place, because of concurrency.when_full: cancel"}, []any{gave.Status, gave.Reason})
	require.Equal(t, "cancelled", d.view(t, "r").Status)
	require.Equal(t, pipeline.Completed, result(t, b).Status)
	stopped := d.run(t, "r")
	require.Equal(t, []any{pipeline.Cancelled, false}, []any{stopped.Status, stopped.Final})
	actions, err := d.Log.Actions(t.Context(), "r")
	require.NoError(t, err)
	last := actions[len(actions)-1]
	require.Equal(t, []string{"cancel", "run b", "it takes its place, because of concurrency.when_full: cancel"}, []string{last.Verb, last.Actor, last.Why})
	require.Equal(t, "cancelled by run b: "+last.Why, stopped.Reason)
}

// TestAWorkflowOfAnotherNameSaysHowItsRunEnded: one run gives way, one is cancelled by an order, one is terminated while it waits, and one as it runs.
func TestAWorkflowOfAnotherNameSaysHowItsRunEnded(t *testing.T) {
	d := open(t)
	waits := func(run, policy string) client.WorkflowRun {
		handle := system.Execute(t, d.Temporal, "mine-"+run, d.asking(t, run, one(policy)))
		d.becomes(t, run, landscape.StartWaiting)
		return handle
	}
	status := func(handle client.WorkflowRun) (status string) {
		answer, err := d.Temporal.QueryWorkflow(t.Context(), handle.GetID(), "", workflows.ProgressQuery)
		require.NoError(t, err)
		var view workflows.View
		require.NoError(t, answer.Get(&view))
		return view.Status
	}
	order := map[string]any{"actor": "ann", "why": "to see"}
	first := d.paused(t, "mine-first", "first", one("queue"))
	second := waits("second", "cancel")
	gave := result(t, first)
	require.Equal(t, []any{pipeline.Cancelled, "cancelled by run second: it takes its place, because of concurrency.when_full: cancel"}, []any{gave.Status, gave.Reason})
	require.Equal(t, "cancelled", status(first))
	require.NoError(t, system.Give(t, d.Temporal, second.GetID(), workflows.CancelUpdate, order))
	require.Equal(t, "cancelled by ann: to see", result(t, second).Reason)

	third := d.paused(t, "mine-third", "third", one("queue"))
	fourth := waits("fourth", "queue")
	for _, terminated := range []struct { // the one that waits first: it would begin once the other one ended
		client.WorkflowRun
		status string
	}{{fourth, "refused"}, {third, "interrupted"}} {
		run := strings.TrimPrefix(terminated.GetID(), "mine-")
		require.NoError(t, d.Temporal.TerminateWorkflow(t.Context(), workflows.WorkflowID(run), "", "to see"))
		require.Eventually(t, func() bool { // as a worker does now and then
			found, err := recovery.Abandoned{Client: d.Temporal, Namespace: d.Namespace, Log: d.Log}.All(t.Context())
			return err == nil && slices.Contains(found, run)
		}, patience, 10*time.Millisecond)
		err := terminated.Get(t.Context(), nil)
		application, ok := errors.AsType[*temporal.ApplicationError](err)
		require.True(t, ok, "%v", err)
		var problem activities.Problem
		require.NoError(t, application.Details(&problem))
		require.Equal(t, []string{"RunFailed", "run " + run + " stopped: its workflow was terminated in Temporal; waymark status " + run + " says how to continue"},
			[]string{problem.Type, problem.Detail})
		require.Equal(t, terminated.status, status(terminated))
	}
}

// TestAWorkflowOfAnotherNameOutlivesAResumption: who resumes a run without a server closes its workflow, and starts another one.
func TestAWorkflowOfAnotherNameOutlivesAResumption(t *testing.T) {
	sample.Rarely(t)
	d := open(t)
	asked := d.paused(t, "mine", "r", one("queue"))
	require.NoError(t, d.Temporal.TerminateWorkflow(t.Context(), workflows.WorkflowID("r"), "", "its process ended"))
	_, err := system.End(t, system.Resume(t, d.Client, "r", "its process ended"))
	require.NoError(t, err)
	require.Equal(t, pipeline.Completed, result(t, asked).Status)
}

// TestALaterRunTakesThePlaceInTheQueue: of those that wait to take the place of another one, the last remains.
func TestALaterRunTakesThePlaceInTheQueue(t *testing.T) {
	d := open(t)
	pooled := one("cancel") + "pools: {db: 1}\n"
	b := d.ask(t, "b", pooled)
	require.Equal(t, "pool:db has no places: waymark limit set pool:db 1 --why TEXT gives it one", d.becomes(t, "b", landscape.StartWaiting).Reason)
	c := d.ask(t, "c", pooled)
	require.Equal(t, workflows.RunResult{Run: "b", Status: "superseded", Reason: "run c takes its place"}, result(t, b))
	require.NoError(t, d.Log.SetLimit(t.Context(), landscape.Limit{Gate: landscape.PoolGate("db"), Places: 1, Actor: "ann", Why: "to see"}))
	runs, err := d.Log.AllAdmissible(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, runs)
	require.NoError(t, activities.Wake(t.Context(), d.Temporal, runs...))
	require.Equal(t, pipeline.Completed, result(t, c).Status)
}

func TestARunThatWaitsIsCancelled(t *testing.T) {
	d := open(t)
	holder := d.holder(t, one("queue"))
	b, c := d.ask(t, "b", one("queue")), d.ask(t, "c", one("queue"))
	d.becomes(t, "b", landscape.StartWaiting)
	d.becomes(t, "c", landscape.StartWaiting)
	update, err := d.Temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: b.GetID(), UpdateName: workflows.CancelUpdate, Args: []any{workflows.Command{Actor: "ann", Why: "too late"}},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(t, err)
	require.NoError(t, update.Get(t.Context(), nil))
	require.Equal(t, "cancelled by ann: too late", d.becomes(t, "b", landscape.StartCancelled).Reason)
	require.Equal(t, workflows.RunResult{Run: "b", Status: pipeline.Cancelled, Reason: "cancelled by ann: too late"}, result(t, b))
	d.cancelled(t, c)
	require.Equal(t, "cancelled in Temporal by bob@a: enough", d.becomes(t, "c", landscape.StartCancelled).Reason)
	d.order(t, workflows.ContinueUpdate)
	d.complete(t, result(t, holder).Run)
}

func TestAQueueHasAnEnd(t *testing.T) {
	d := open(t)
	bounded := strings.Replace(one("queue"), "when_full: queue", "queue: {max: 1, wait: 1s}", 1)
	d.holder(t, bounded)
	b := d.ask(t, "b", bounded)
	d.becomes(t, "b", landscape.StartWaiting)
	refused(t, d.ask(t, "c", bounded), activities.TypeQueueFull,
		"as many runs wait as may: 1 (concurrency.queue.max): pipeline:many has 1 place, held by run r; run b comes before it; waymark queue lists those that wait: start again when fewer do")
	require.Equal(t, activities.TypeQueueFull, d.becomes(t, "c", landscape.StartRefused).Refusal)
	require.Equal(t, activities.TypeQueueTimeout, d.becomes(t, "b", landscape.StartRefused).Refusal, "by itself")
	refused(t, b, activities.TypeQueueTimeout, "waited for as long as it may: 1s: pipeline:many has 1 place, held by run r")
	d.order(t, workflows.ContinueUpdate)
}

// TestATerminatedRunLetsGoOfItsPlace terminates one that runs, and one that waits: those behind them begin.
func TestATerminatedRunLetsGoOfItsPlace(t *testing.T) {
	d := open(t)
	d.holder(t, one("queue"))
	b := d.ask(t, "b", one("queue"))
	d.becomes(t, "b", landscape.StartWaiting)
	c := d.ask(t, "c", one("queue"))
	d.becomes(t, "c", landscape.StartWaiting)
	begun := time.Now().Add(-time.Minute)
	runs := recovery.Abandoned{Client: d.Temporal, Namespace: d.Namespace, Log: d.Log}
	for _, step := range []struct {
		terminated, run string
		state           landscape.StartState
	}{{b.GetID(), "b", landscape.StartRefused}, {workflows.WorkflowID("r"), "c", landscape.StartBegun}} {
		require.NoError(t, d.Temporal.TerminateWorkflow(t.Context(), step.terminated, "", "to see"))
		require.Eventually(t, func() bool {
			_, err := runs.Since(t.Context(), begun)
			require.NoError(t, err)
			start, err := d.Log.LastStart(t.Context(), step.run)
			return err == nil && start.State == step.state
		}, patience, 10*time.Millisecond, step.run)
	}
	require.Equal(t, pipeline.Completed, result(t, c).Status)
	require.Equal(t, "WorkflowClosed", d.becomes(t, "b", landscape.StartRefused).Refusal)
}

// TestARefusedOrderSaysWhy says so in the same words, of the same type, to who gives it to the workflow of the run and to who gives it to their own.
func TestARefusedOrderSaysWhy(t *testing.T) {
	d := open(t)
	d.holder(t, one("queue"))
	waiting := system.Execute(t, d.Temporal, "mine", d.asking(t, "w", one("queue")))
	reason := d.becomes(t, "w", landscape.StartWaiting).Reason
	d.answers(t, "mine", workflows.View{Run: "w", Workflow: "run-w", Status: "waiting", Waits: reason})
	for _, workflow := range []string{"run-w", "mine"} {
		var refused *temporal.ApplicationError
		require.ErrorAs(t, system.Give(t, d.Temporal, workflow, workflows.PauseUpdate, map[string]any{"actor": "ann", "why": "to see"}), &refused)
		require.Equal(t, activities.TypeCommandRefused, refused.Type())
		require.Equal(t, "run w waits for places, and can only be cancelled until it begins", refused.Message())
		require.NotContains(t, strings.TrimPrefix(refused.Error(), refused.Message()), "waits for places")
		var problem activities.Problem
		require.NoError(t, refused.Details(&problem))
		require.Equal(t, activities.ProblemOf(activities.TypeCommandRefused, refused.Message()), problem)
	}
	require.NoError(t, system.Give(t, d.Temporal, "mine", workflows.CancelUpdate, map[string]any{"actor": "ann", "why": "enough"}))
	require.Equal(t, pipeline.Cancelled, result(t, waiting).Status)
	d.order(t, workflows.ContinueUpdate)
}

// answers waits until a workflow answers like that for its run.
func (d door) answers(t *testing.T, id string, want workflows.View) {
	t.Helper()
	require.Eventually(t, func() bool {
		var view workflows.View
		answer, err := d.Temporal.QueryWorkflow(t.Context(), id, "", workflows.ProgressQuery)
		return err == nil && answer.Get(&view) == nil && reflect.DeepEqual(view, want)
	}, patience, 10*time.Millisecond)
}

// TestStartersKnowThatTheirRunWaits: the one that began it, and one that asks for it under the same key.
func TestStartersKnowThatTheirRunWaits(t *testing.T) {
	s := offering(t, map[string]string{"many.yaml": one("queue"), "in.csv": fixtures.Numbered(0, 10)})
	d := door{System: s}
	s.Write(t, map[string]string{"in.csv": fixtures.Numbered(0, 10)})
	d.holder(t, one("queue"))
	in := map[string]any{"pipeline": "many", "key": "k"}
	first := system.Execute(t, s.Temporal, "first", in)
	run := asked(t, s, "first").Run
	reason := d.becomes(t, run, landscape.StartWaiting).Reason
	waits := workflows.View{Run: run, Workflow: workflows.WorkflowID(run), Status: "waiting", Waits: reason}
	d.answers(t, "first", waits)
	second := system.Execute(t, s.Temporal, "second", in)
	d.answers(t, "second", waits)
	d.order(t, workflows.ContinueUpdate)
	require.Equal(t, result(t, first), result(t, second))
	var told []bool // that it waits
	for _, event := range system.Events(t, s.Temporal, "first", "") {
		if signal := event.GetWorkflowExecutionSignaledEventAttributes(); signal != nil {
			var wait activities.Wait
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(signal.GetInput(), &wait))
			told = append(told, wait.Reason != "")
		}
	}
	require.Equal(t, []bool{true, false}, told)
}

// cancelled cancels a workflow as Temporal's own tools do; it ends with who did that, and why.
func (d door) cancelled(t *testing.T, workflow client.WorkflowRun) {
	t.Helper()
	_, err := d.Temporal.WorkflowService().RequestCancelWorkflowExecution(t.Context(), &workflowservice.RequestCancelWorkflowExecutionRequest{
		Namespace:         d.Namespace,
		WorkflowExecution: &common.WorkflowExecution{WorkflowId: workflow.GetID()},
		Identity:          "bob@a",
		Reason:            "enough",
	})
	require.NoError(t, err)
	var canceled *temporal.CanceledError
	require.ErrorAs(t, workflow.Get(t.Context(), nil), &canceled)
	var problem activities.Problem
	require.NoError(t, canceled.Details(&problem))
	require.Equal(t, activities.ProblemOf(activities.TypeCancelled, "cancelled in Temporal by bob@a: enough"), problem)
}

// TestWhoCancelsAWorkflowInTemporalIsOnRecord: also if it is the one that somebody started for the run.
func TestWhoCancelsAWorkflowInTemporalIsOnRecord(t *testing.T) {
	d := open(t)
	mine := d.paused(t, "mine", "r", one("queue"))
	d.cancelled(t, mine)
	run := d.run(t, "r")
	require.Equal(t, []any{pipeline.Cancelled, "cancelled in Temporal by bob@a: enough"}, []any{run.Status, run.Reason})
	require.Contains(t, currentDetails(t, d.System, "mine"), run.Reason)
}
