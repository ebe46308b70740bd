package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/fixtures"
	"waymark/tests/system"
	"waymark/workflows"
	"waymark/workflows/recovery"
)

// door is a Waymark whose runs people start, reset and stop in Temporal, past the command line.
type door struct {
	*system.System
	rows int    // of the input
	end  func() // lets the source end, which an idle one does not do before
}

// many is a document of several chunks. Of more than four, a run continues itself as new on a server with short.
const many = `
name: many
params: {least: {type: int, default: 0}}
chunk: {rows: 20}
sources:
  in: {csv: {path: in.csv}, schema: {fields: {id: int, kind: string}}}
steps:
  - {name: keep, filter: row.id >= param.least}
sinks:
  out: {csv: {path: out/out.csv, overwrite: true}}
`

var short = map[string]any{"limit.historyCount.suggestContinueAsNew": 40}

// The rows of one chunk and a half, and of as many chunks as a run needs to continue itself as new twice.
const (
	fewRows  = 30
	manyRows = 120
)

func open(t *testing.T) door {
	t.Helper()
	return door{System: system.Start(t, short)}.has(t, fewRows)
}

// has writes an input of so many rows.
func (d door) has(t *testing.T, rows int) door {
	t.Helper()
	d.rows = rows
	d.Write(t, map[string]string{"in.csv": fixtures.Numbered(0, rows)})
	return d
}

// openIdle is open with a source that has more chunks, and that is idle after them: a run does not end before pausedRun
// has paused it, however slow that is.
func openIdle(t *testing.T) door {
	t.Helper()
	mayEnd := make(chan struct{})
	idle := func(p recompute.Planner) recompute.Planner { return idlePlanner{p, mayEnd} }
	s := system.StartWith(t, system.Options{Settings: short, Planner: idle})
	return door{System: s, end: func() { close(mayEnd) }}.has(t, manyRows)
}

// input is what the command line would start a run with.
func (d door) input(t *testing.T, run string, params activities.Params) workflows.RunInput {
	t.Helper()
	digest, err := d.Payloads.Put(t.Context(), []byte(many))
	require.NoError(t, err)
	return workflows.RunInput{OpenInput: activities.OpenInput{
		Run: run, Document: string(digest), File: "pipeline.yaml", Folder: d.Folder, Params: params, Actor: "root", Trigger: "cli",
	}}
}

// reset does what Temporal's UI does: it ends the workflow's execution if it is open, and begins one that continues from one of its
// decisions, counted from 0, or from the end if it is negative.
func (d door) reset(t *testing.T, id, execution string, decision int) client.WorkflowRun {
	t.Helper()
	var decisions []int64
	for _, event := range system.Events(t, d.Temporal, id, execution) {
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			decisions = append(decisions, event.GetEventId())
		}
	}
	at := (decision + len(decisions)) % len(decisions)
	answer, err := d.Temporal.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: d.Namespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: id, RunId: execution},
		Reason: "to see", WorkflowTaskFinishEventId: decisions[at], RequestId: uuid.NewString(),
	})
	require.NoError(t, err)
	return d.Temporal.GetWorkflow(t.Context(), id, answer.GetRunId())
}

// executions returns the run ids of the executions of a workflow that continued each other, the first one first.
func (d door) executions(t *testing.T, id string) (all []string) {
	t.Helper()
	description, err := d.Temporal.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	for next := description.GetWorkflowExecutionInfo().GetFirstRunId(); next != ""; {
		all = append(all, next)
		events := system.Events(t, d.Temporal, id, next)
		next = events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return all
}

// order gives the run r an order and waits until it is obeyed.
func (d door) order(t *testing.T, verb string) {
	t.Helper()
	require.Eventually(t, func() bool {
		update, err := d.Temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
			WorkflowID: workflows.WorkflowID("r"), UpdateName: verb, Args: []any{workflows.Command{Actor: "ann", Why: "to see"}},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		return err == nil && update.Get(t.Context(), nil) == nil
	}, patience, 10*time.Millisecond)
}

// pausedRun starts the run r and pauses it when it has continued itself as new, and lets the source end then.
func (d door) pausedRun(t *testing.T) client.WorkflowRun {
	t.Helper()
	const run = "r"
	handle := system.Execute(t, d.Temporal, workflows.WorkflowID(run), d.input(t, run, nil))
	require.Eventually(t, func() bool {
		events := system.Events(t, d.Temporal, workflows.WorkflowID(run), "")
		return events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId() != ""
	}, patience, time.Millisecond)
	d.order(t, workflows.PauseUpdate)
	d.end()
	return handle
}

// view asks a run's workflow how it is.
func (d door) view(t *testing.T, run string) (view workflows.View) {
	t.Helper()
	answer, err := d.Temporal.QueryWorkflow(t.Context(), workflows.WorkflowID(run), "", workflows.ProgressQuery)
	require.NoError(t, err)
	require.NoError(t, answer.Get(&view))
	return view
}

func (d door) run(t *testing.T, run string) landscape.Run {
	t.Helper()
	record, err := d.Log.Run(t.Context(), run)
	require.NoError(t, err)
	return record
}

// complete requires that a run is complete, true, and was published once.
func (d door) complete(t *testing.T, run string) {
	t.Helper()
	require.Equal(t, pipeline.Completed, d.run(t, run).Status)
	require.Equal(t, d.rows+1, strings.Count(d.Read(t, "out/out.csv"), "\n"))
	d.Verify(t, run)
}

// refused requires that a workflow failed at once, with words.
func refused(t *testing.T, handle client.WorkflowRun, kind string, words ...string) {
	t.Helper()
	begun := time.Now()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	err := handle.Get(ctx, nil)
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, kind, application.Type(), "%v", err)
	for _, word := range words {
		require.Contains(t, application.Message(), word)
	}
	require.NotContains(t, application.Message(), "sqlite")
	require.Less(t, time.Since(begun), patience, "no retries")
}

// TestStateComesFromPreviousExecution starts workflows with the input of an execution that continued another one, as
// Temporal's UI does with "Start like this one": a paused run stays paused, and nobody else works for it.
func TestStateComesFromPreviousExecution(t *testing.T) {
	d := openIdle(t)
	handle := d.pausedRun(t)
	before := d.run(t, "r")
	input := system.Events(t, d.Temporal, "run-r", "")[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()[0]
	copied := json.RawMessage(input.GetData())
	refused(t, system.Execute(t, d.Temporal, "another", copied), activities.TypeInput, "the input has a state, which only a run hands on to itself")
	again := d.input(t, "r", nil)
	refused(t, system.Execute(t, d.Temporal, "yet-another", again), activities.TypeExists, "RUN_EXISTS: run r is worked for by workflow run-r")
	again.Document, again.Resume = "", &activities.ResumeInput{Run: "r", Epoch: 1}
	refused(t, system.Execute(t, d.Temporal, "one-more", again), activities.TypeInput, "is for the workflow run-r")
	require.NotNil(t, d.view(t, "r").Paused)
	require.Equal(t, before, d.run(t, "r"))
	d.order(t, workflows.ContinueUpdate)
	require.NoError(t, handle.Get(t.Context(), nil))
	d.complete(t, "r")
	refused(t, system.Execute(t, d.Temporal, "run-r", copied), activities.TypeInput, "the input has a state")
}

// TestAResetRunGoesOnFromItsRecord resets executions of a paused run at decisions after which there was work to do: each time it is
// resumed in a new epoch, still paused, and no row is read or published a second time. After the last decision of the execution that was
// paused there may have been none.
func TestAResetRunGoesOnFromItsRecord(t *testing.T) {
	d := openIdle(t)
	d.pausedRun(t)
	all := d.executions(t, "run-r")
	var handle client.WorkflowRun
	for i, c := range []struct {
		execution string
		decision  int
	}{{all[0], 0}, {all[0], 5}, {all[0], -1}, {all[1], 0}, {all[1], 1}} {
		handle = d.reset(t, "run-r", c.execution, c.decision)
		epoch := int64(i + 1)
		require.Eventually(t, func() bool { return d.run(t, "r").Epoch == epoch }, patience, 10*time.Millisecond, "%v", c)
		require.Eventually(t, func() bool {
			answer, err := d.Temporal.QueryWorkflow(t.Context(), "run-r", "", workflows.ProgressQuery)
			var view workflows.View
			return err == nil && answer.Get(&view) == nil && view.Paused != nil
		}, patience, 10*time.Millisecond, "%v", c)
	}
	d.order(t, workflows.ContinueUpdate)
	require.NoError(t, handle.Get(t.Context(), nil))
	d.complete(t, "r")
	resumptions, err := d.Log.Resumptions(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, activities.TriggerTemporal, resumptions[0].Actor, "not who started what was reset")
	record := d.run(t, "r")
	for _, decision := range []int{0, -1} {
		refused(t, d.reset(t, "run-r", all[0], decision), activities.TypeExists, "RUN_EXISTS: run r is recorded: completed of many", "nothing is left to do")
	}
	latest := d.executions(t, "run-r")
	refused(t, d.reset(t, "run-r", latest[len(latest)-1], 0), activities.TypeExists, "RUN_EXISTS")
	require.Equal(t, record, d.run(t, "r"))
	d.Verify(t, "r")
}

// TestARunIsBegunOnce starts runs again under the id of one that is recorded: it is resumed, or fails at once and says what is there.
func TestARunIsBegunOnce(t *testing.T) {
	t.Parallel()
	d := openIdle(t)
	handle := d.pausedRun(t)
	d.order(t, workflows.CancelUpdate)
	require.NoError(t, handle.Get(t.Context(), nil))
	refused(t, system.Execute(t, d.Temporal, "run-r", d.input(t, "r", activities.Params{"least": "5"})), activities.TypeExists,
		"RUN_EXISTS: run r is recorded: cancelled of many", "other values of the parameters least", "give the new run another id")
	require.Equal(t, pipeline.Cancelled, d.run(t, "r").Status)
	require.NoError(t, system.Execute(t, d.Temporal, "a-service", d.input(t, "r", nil)).Get(t.Context(), nil), "by whatever name")
	d.complete(t, "r")
	require.EqualValues(t, 1, d.run(t, "r").Epoch)
	refused(t, system.Execute(t, d.Temporal, "run-r", d.input(t, "r", nil)), activities.TypeExists, "RUN_EXISTS: run r is recorded: completed of many")

	handle = system.Execute(t, d.Temporal, "nightly", d.input(t, "", nil))
	var result workflows.RunResult
	require.NoError(t, handle.Get(t.Context(), &result))
	d.complete(t, result.Run)
	require.Equal(t, handle.GetRunID(), result.Run)
	refused(t, d.reset(t, "nightly", handle.GetRunID(), 0), activities.TypeExists, "RUN_EXISTS: run "+result.Run+" is recorded: completed of many")
}

// TestWhoStartedARunIsWhatTemporalKnows starts runs whose inputs claim another beginning.
func TestWhoStartedARunIsWhatTemporalKnows(t *testing.T) {
	t.Parallel()
	d := open(t).has(t, manyRows)
	for i, c := range []struct{ identity, actor, trigger string }{
		{"orders-service", "orders-service", activities.TriggerTemporal},
		{activities.Identity(activities.TriggerCLI, "ann", "desk"), "ann", activities.TriggerCLI},
	} {
		run := fmt.Sprint("r", i)
		request := d.startRequest(t, run, c.identity, d.input(t, run, nil))
		answer, err := d.Temporal.WorkflowService().StartWorkflowExecution(t.Context(), request)
		require.NoError(t, err)
		require.NoError(t, d.Temporal.GetWorkflow(t.Context(), "by-"+run, answer.GetRunId()).Get(t.Context(), nil))
		record := d.run(t, run)
		require.Equal(t, []string{c.actor, c.trigger}, []string{record.Actor, record.Trigger})
		executions, err := d.Log.Executions(t.Context(), run, 0)
		require.NoError(t, err)
		require.Greater(t, len(executions), 1, "it continued itself")
		require.Equal(t, c.identity, executions[0].Identity)
		require.Equal(t, workflows.WorkflowID(run), executions[1].Workflow)
	}
}

func (d door) startRequest(
	t *testing.T, run, identity string, in workflows.RunInput,
) *workflowservice.StartWorkflowExecutionRequest {
	t.Helper()
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(in)
	require.NoError(t, err)
	return &workflowservice.StartWorkflowExecutionRequest{
		Namespace:    d.Namespace,
		WorkflowId:   "by-" + run,
		WorkflowType: &common.WorkflowType{Name: workflows.RunPipelineName},
		TaskQueue:    &taskqueue.TaskQueue{Name: workflows.TaskQueue},
		Input:        payloads,
		Identity:     identity,
		RequestId:    uuid.NewString(),
	}
}

// TestATerminatedRunIsInterrupted terminates the workflow of a run: whoever looks for such runs puts that on record, once, and nobody who
// comes late does so for the run as somebody resumed it.
func TestATerminatedRunIsInterrupted(t *testing.T) {
	d := openIdle(t)
	begun := time.Now()
	d.pausedRun(t)
	runs := recovery.Abandoned{Client: d.Temporal, Namespace: d.Namespace, Log: d.Log}
	for _, look := range []func() ([]string, error){
		func() ([]string, error) { return runs.All(t.Context()) },
		func() ([]string, error) { return runs.Since(t.Context(), begun) },
	} {
		found, err := look()
		require.NoError(t, err)
		require.Empty(t, found, "its workflow is open")
		before := d.run(t, "r")
		require.NoError(t, d.Temporal.TerminateWorkflow(t.Context(), "run-r", "", "to see"))
		elsewhere := runs
		elsewhere.Namespace = "another"
		found, err = elsewhere.All(t.Context())
		require.NoError(t, err)
		require.Empty(t, found, "that namespace has nothing to say of it")
		require.Eventually(t, func() bool {
			found, err = look()
			return err == nil && len(found) == 1
		}, patience, 10*time.Millisecond)
		now := d.run(t, "r")
		require.Equal(t, pipeline.Interrupted, now.Status)
		require.Equal(t, "interrupted: its workflow was terminated in Temporal", now.Reason)
		found, err = look()
		require.NoError(t, err)
		require.Empty(t, found, "it is recorded")

		order := workflows.Command{Actor: "ann", Why: "to see"}
		_, err = startPaused(t, d.Temporal, "run-r", d.input(t, "r", nil), order)
		require.NoError(t, err)
		require.Equal(t, before.Epoch+1, d.run(t, "r").Epoch)
	}
	d.order(t, workflows.ContinueUpdate)
	require.NoError(t, d.Temporal.GetWorkflow(t.Context(), "run-r", "").Get(t.Context(), nil))
	d.complete(t, "r")
}

// TestAStartWhoseWorkflowIsTerminatedIsRefused terminates the workflow of a run before a worker comes for it.
func TestAStartWhoseWorkflowIsTerminatedIsRefused(t *testing.T) {
	d := open(t)
	begun := time.Now()
	runs := recovery.Abandoned{Client: d.Temporal, Namespace: d.Namespace, Log: d.Log}
	for run, look := range map[string]func() ([]string, error){
		"a": func() ([]string, error) { return runs.All(t.Context()) },
		"b": func() ([]string, error) { return runs.Since(t.Context(), begun) },
	} {
		require.NoError(t, d.Log.Accept(t.Context(), landscape.Start{Run: run, Params: "{}", Workflow: workflows.WorkflowID(run)}))
		request := d.startRequest(t, run, "ann", d.input(t, run, nil))
		request.WorkflowId, request.TaskQueue.Name = workflows.WorkflowID(run), "nobody"
		_, err := d.Temporal.WorkflowService().StartWorkflowExecution(t.Context(), request)
		require.NoError(t, err)
		found, err := look()
		require.NoError(t, err)
		require.Empty(t, found, "its workflow is open")
		require.NoError(t, d.Temporal.TerminateWorkflow(t.Context(), workflows.WorkflowID(run), "", "to see"))
		require.Eventually(t, func() bool {
			found, err = look()
			return err == nil && len(found) == 1 && found[0] == run
		}, patience, 10*time.Millisecond)
		start, err := d.Log.LastStart(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, []any{landscape.StartRefused, "WorkflowClosed", "its workflow was terminated in Temporal"}, []any{start.State, start.Refusal, start.Reason})
		found, err = look()
		require.NoError(t, err)
		require.Empty(t, found, "it is recorded")
	}
}

// TestAWorkflowWithoutAnASCIIIDIsNamed: Temporal takes such an id, and never gives anybody a task of it.
func TestAWorkflowWithoutAnASCIIIDIsNamed(t *testing.T) {
	d := open(t)
	connection, err := grpc.NewClient(d.Address, grpc.WithTransportCredentials(insecure.NewCredentials())) // as Temporal's pages do it: the SDK refuses
	require.NoError(t, err)
	defer connection.Close()
	for _, id := range []string{"für-märz", "run-r"} {
		request := d.startRequest(t, "r", "ann", d.input(t, "r", nil))
		request.WorkflowId, request.TaskQueue.Name = id, "nobody"
		_, err := workflowservice.NewWorkflowServiceClient(connection).StartWorkflowExecution(t.Context(), request)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		ids, err := recovery.Unworkable(t.Context(), d.Temporal)
		return err == nil && len(ids) == 1 && ids[0] == "für-märz"
	}, patience, 10*time.Millisecond)
}
