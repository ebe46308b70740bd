package tests

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/client"
	"waymark/internal/temporal/attributes"
	"waymark/tests/fixtures"
	"waymark/tests/system"
	"waymark/worker"
	"waymark/workflows"
)

const fourOrders = "id\n1\n2\nthree\n4\n"

// TestRunsAreFoundByTheirAttributes: whatever search attributes a namespace has, runs work as ever, no workflow task fails, and those that it
// has are set.
func TestRunsAreFoundByTheirAttributes(t *testing.T) {
	all := attributes.Types()
	wrong := map[string]enums.IndexedValueType{}
	for name, kind := range all {
		if wrong[name] = enums.INDEXED_VALUE_TYPE_KEYWORD; kind == wrong[name] {
			wrong[name] = enums.INDEXED_VALUE_TYPE_DOUBLE
		}
		if name == attributes.Environment || name == attributes.Slot { // which would be more of a type than there are
			delete(wrong, name)
		}
	}
	for name, c := range map[string]struct {
		registered map[string]enums.IndexedValueType
		shown      []string
	}{
		"none": {map[string]enums.IndexedValueType{}, nil},
		"three": {
			map[string]enums.IndexedValueType{attributes.Status: all[attributes.Status], attributes.Tags: all[attributes.Tags], attributes.RowsRead: all[attributes.RowsRead]},
			[]string{attributes.RowsRead, attributes.Status, attributes.Tags},
		},
		"of wrong types": {wrong, nil},
		"all": {all, []string{
			attributes.Pipeline, attributes.RowsRead, attributes.RowsRefused, attributes.Status, attributes.Tags, attributes.Trigger,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := system.StartWith(t, system.Options{Attributes: c.registered})
			s.Write(t, map[string]string{"orders.csv": fourOrders})
			result, err := s.Run(t, "r1", fixtures.Orders)
			require.NoError(t, err)
			require.EqualValues(t, 1, result.Refused)
			_, err = s.Run(t, "r2", strings.Replace(fixtures.Orders, "schema:", "on_invalid: fail, schema:", 1))
			require.Error(t, err)
			_, err = s.Run(t, "r3", "name: nothing\n")
			require.Error(t, err)
			requireShown(t, s, "r1", c.shown, map[string]string{
				attributes.Pipeline: "orders", attributes.Status: "completed_with_failures", attributes.Trigger: activities.TriggerLibrary,
				attributes.RowsRead: "4", attributes.RowsRefused: "1",
			})
			requireShown(t, s, "r2", c.shown, map[string]string{attributes.Pipeline: "orders", attributes.Status: "failed"})
			refused := without(without(without(c.shown, attributes.RowsRead), attributes.RowsRefused), attributes.Pipeline)
			requireShown(t, s, "r3", refused, map[string]string{attributes.Status: attributes.Refused})
		})
	}
}

// requireShown requires that the workflow of a run has these search attributes, and no others, with these values where one is named; and
// that none of its tasks failed.
func requireShown(t *testing.T, s *system.System, run string, names []string, values map[string]string) {
	t.Helper()
	description, err := s.Temporal.DescribeWorkflowExecution(t.Context(), workflows.WorkflowID(run), "")
	require.NoError(t, err)
	fields := description.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()
	var found []string
	for name, payload := range fields {
		if strings.HasPrefix(name, "Waymark") {
			found = append(found, name)
			if want, named := values[name]; named {
				require.Equal(t, want, strings.Trim(string(payload.GetData()), `"`), name)
			}
		}
	}
	require.ElementsMatch(t, names, found, run)
	if tags := fields[attributes.Tags]; tags != nil {
		var words []string
		require.NoError(t, converter.GetDefaultDataConverter().FromPayload(tags, &words))
		require.Contains(t, words, attributes.TagRun+run)
		require.Contains(t, words, attributes.TagActor+"tester")
		if on, err := s.Log.Run(t.Context(), run); err == nil {
			require.Contains(t, words, attributes.TagDocument+on.DocumentSHA256)
		}
	}
	requireNoFailedTask(t, system.Events(t, s.Temporal, workflows.WorkflowID(run), ""))
}

// requireNoFailedTask allows a task that the server repeats because something came while the workflow ended.
func requireNoFailedTask(t *testing.T, events []*history.HistoryEvent) {
	t.Helper()
	for _, event := range events {
		failed := event.GetWorkflowTaskFailedEventAttributes()
		require.True(t, failed == nil || failed.GetCause() == enums.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, event)
	}
}

func without(names []string, name string) (rest []string) {
	for _, n := range names {
		if n != name {
			rest = append(rest, n)
		}
	}
	return rest
}

// called gives a document the name of its file.
func called(name, document string) string {
	return strings.Replace(document, "name: orders\n", "name: "+name+"\n", 1)
}

// TestRunsAreListed finds the runs of a deployed pipeline by queries: those that a person started without an id, with the workflows that began
// them, one that is paused, and one that failed.
func TestRunsAreListed(t *testing.T) {
	pipelines := t.TempDir()
	s := system.StartWith(t, system.Options{Members: []worker.Member{{Pipelines: pipelines}}})

	for name, content := range map[string]string{
		"orders.yaml": fixtures.Orders, "strict.yaml": called("strict", strings.Replace(fixtures.Orders, "schema:", "on_invalid: fail, schema:", 1)), "orders.csv": fourOrders,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(pipelines, name), []byte(content), 0o600))
	}

	started := system.Execute(t, s.Temporal, "ann-wants-orders", map[string]any{"pipeline": "orders"})
	var result workflows.RunResult
	require.NoError(t, started.Get(t.Context(), &result))
	require.Error(t, system.Execute(t, s.Temporal, "ann-wants-more", map[string]any{"pipeline": "strict"}).Get(t.Context(), nil))
	require.Error(t, system.Execute(t, s.Temporal, "ann-wants-nothing", map[string]any{"pipeline": "none"}).Get(t.Context(), nil))

	id := workflows.WorkflowID(result.Run)
	requireListed(t, s, "WaymarkPipeline = 'orders' and WaymarkStatus = 'completed_with_failures'", id, "ann-wants-orders")
	requireListed(t, s, "WaymarkTags = 'run:"+result.Run+"'", id, "ann-wants-orders")
	requireListed(t, s, "WaymarkRowsRefused > 0 and WorkflowId starts_with 'run-'", id)
	failed, err := s.Client.Find(t.Context(), "ann-wants-more")
	require.NoError(t, err)
	requireListed(t, s, "WaymarkPipeline = 'strict' and WaymarkStatus = 'failed'", workflows.WorkflowID(failed.ID), "ann-wants-more")
	refused, err := s.Log.StartOfWorkflow(t.Context(), "ann-wants-nothing")
	require.NoError(t, err)
	requireListed(t, s, "WaymarkPipeline = 'none' and WaymarkStatus = 'refused'", workflows.WorkflowID(refused.Run), "ann-wants-nothing")
}

// TestAPauseIsShown pauses a run, continues and cancels it: its status says so each time.
func TestAPauseIsShown(t *testing.T) {
	s := system.Start(t, nil)
	s.Write(t, map[string]string{"in.csv": canaries(40_000, false)})
	run := s.Begin(t, "r1", recorded)
	recorder{s}.awaitRows(t, "r1")
	requireListed(t, s, "WaymarkStatus = 'running'", run.Workflow)
	by := client.By{Actor: "ann", Why: "to look"}
	found, err := s.Client.Find(t.Context(), "r1")
	require.NoError(t, err)
	changed, err := s.Client.Pause(t.Context(), found, by)
	require.NoError(t, err)
	require.True(t, changed)
	requireListed(t, s, "WaymarkStatus = 'paused'", run.Workflow)
	require.Contains(t, currentDetails(t, s, run.Workflow), "Paused by ann: to look. To continue: `waymark resume r1`")
	_, err = s.Client.Resume(t.Context(), found, client.ResumeRequest{By: by})
	require.NoError(t, err)
	requireListed(t, s, "WaymarkStatus = 'running'", run.Workflow)
	cancelled, err := s.Client.Cancel(t.Context(), found, by, false)
	require.NoError(t, err)
	require.True(t, cancelled.Changed)
	_, err = system.End(t, run)
	require.NoError(t, err)
	requireListed(t, s, "WaymarkStatus = 'cancelled'", run.Workflow)
	requireNoFailedTask(t, system.Events(t, s.Temporal, run.Workflow, ""))
}

// TestTheResultOfARun says what a run published and why rows were refused, to who started it as well. It stays small.
func TestTheResultOfARun(t *testing.T) {
	s := system.Start(t, nil)
	s.Write(t, map[string]string{"orders.csv": fourOrders})
	result, err := s.Run(t, "r1", fixtures.Orders)
	require.NoError(t, err)
	content := s.Read(t, "out/orders.jsonl")
	require.Equal(t, activities.Ending{
		Outputs: []activities.Output{{
			Sink: "out", Path: filepath.Join(s.Folder, "out/orders.jsonl"), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(content))), Rows: 3, Bytes: int64(len(content)),
		}},
		RefusedBy: []activities.Refusal{{Code: "CONVERT", Rows: 1}},
	}, result.Ending)
	for most, whole := range map[int64]bool{0: false, 1: true} {
		codes, all, err := s.Log.RefusedBy(t.Context(), "r1", most)
		require.NoError(t, err)
		require.Equal(t, whole, all)
		require.EqualValues(t, most, codes["CONVERT"])
	}

	var branches, sinks []string
	for i := range activities.MaxOutputs + 1 {
		branches = append(branches, fmt.Sprintf("b%02d", i))
		sinks = append(sinks, fmt.Sprintf("  s%02d: {jsonl: {path: out/%02d.jsonl, overwrite: true}, from: b%02d}\n", i, i, i))
	}
	head, _, _ := strings.Cut(fixtures.Orders, "sinks:")
	result, err = s.Run(t, "r2", head+"steps:\n  - {name: copies, fork: ["+strings.Join(branches, ", ")+"]}\nsinks:\n"+strings.Join(sinks, ""))
	require.NoError(t, err)
	require.Len(t, result.Outputs, activities.MaxOutputs)
	require.True(t, result.Partial)
}

// TestFailuresAreProblems starts runs as a stranger does, and reads the first detail of what comes back as any SDK does: as a JSON object.
func TestFailuresAreProblems(t *testing.T) {
	pipelines := t.TempDir()
	s := system.StartWith(t, system.Options{Members: []worker.Member{{Pipelines: pipelines}}})
	for name, content := range map[string]string{
		"orders.yaml": fixtures.Orders, "strict.yaml": called("strict", strings.Replace(fixtures.Orders, "schema:", "on_invalid: fail, schema:", 1)), "orders.csv": fourOrders,
		"broken.yaml": strings.Replace(fixtures.Orders, "jsonl:", "jsonlines:", 1), "lost.yaml": called("lost", strings.Replace(fixtures.Orders, "orders.csv", "lost.csv", 1)), "wrong.yaml": fixtures.Orders,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(pipelines, name), []byte(content), 0o600))
	}
	var done workflows.RunResult
	require.NoError(t, system.Execute(t, s.Temporal, "", map[string]any{"pipeline": "orders", "run": "done"}).Get(t.Context(), &done))
	for name, c := range map[string]struct {
		input          map[string]any
		kind, code     string
		pointer, fault string
	}{
		"an unknown key":      {map[string]any{"pipelines": "orders"}, "InputInvalid", "InputInvalid", "/pipelines", "unknown_key"},
		"a key with a slash":  {map[string]any{"pipeline": "orders", "a/b": 1}, "InputInvalid", "InputInvalid", "/a~1b", "unknown_key"},
		"a number":            {map[string]any{"pipeline": 5}, "InputInvalid", "InputInvalid", "/pipeline", "wrong_type"},
		"an id":               {map[string]any{"pipeline": "orders", "run": "../x"}, "InputInvalid", "InputInvalid", "/run", "invalid"},
		"a key below another": {map[string]any{"retry": map[string]any{"off": "r"}}, "InputInvalid", "InputInvalid", "/retry/off", "unknown_key"},
		"no such pipeline":    {map[string]any{"pipeline": "none"}, "NoPipeline", "NoPipeline", "", ""},
		"another's file":      {map[string]any{"pipeline": "wrong"}, "NoPipeline", "NoPipeline", "", ""},
		"a broken document":   {map[string]any{"pipeline": "broken"}, "DocumentInvalid", "DocumentInvalid", "/sinks/out", "DocumentInvalid"},
		"no such file":        {map[string]any{"pipeline": "lost"}, "SourceUnusable", "NOT_FOUND", "", ""},
		"a refused row":       {map[string]any{"pipeline": "strict"}, "RowFailed", "CONVERT", "", ""},
		"a recorded run":      {map[string]any{"pipeline": "orders", "run": "done"}, "RunExists", "RunExists", "", ""},
	} {
		var application *temporal.ApplicationError
		require.ErrorAs(t, system.Execute(t, s.Temporal, "", c.input).Get(t.Context(), nil), &application, name)
		require.Equal(t, c.kind, application.Type(), name)
		var problem activities.Problem
		require.NoError(t, application.Details(&problem), name)
		require.Equal(t, c.kind, problem.Type, name)
		require.Equal(t, c.code, problem.Code, name)
		require.Equal(t, activities.BeforeRun(application.Message()), problem.Detail, name)
		require.NotEmpty(t, problem.Title, name)
		require.NotEmpty(t, problem.Cure, name)
		if c.pointer == "" {
			require.Empty(t, problem.Errors, name)
			continue
		}
		require.Equal(t, c.pointer, problem.Errors[0].Pointer, name)
		require.Equal(t, c.fault, problem.Errors[0].Code, name)
		require.NotEmpty(t, problem.Errors[0].Detail, name)
	}
}

// TestWhatARunLeavesInTemporal reads the memo, the summary and the details of runs: a stranger who sees only Temporal learns what to do next.
func TestWhatARunLeavesInTemporal(t *testing.T) {
	s := system.Start(t, nil)
	s.Write(t, map[string]string{"orders.csv": fourOrders})
	strict := strings.Replace(fixtures.Orders, "schema:", "on_invalid: fail, schema:", 1)
	for run, c := range map[string]struct {
		document string
		now      []string
	}{
		"r1": {fixtures.Orders, []string{"**orders** · completed_with_failures · 4 rows read · 1 refused", "`waymark errors r1`"}},
		"r2": {strict, []string{"**orders** · failed", "row 3", "`waymark status r2` says how to start over"}},
		"r3": {"name: nothing\n", []string{"refused", "sources", "`waymark starts`"}},
	} {
		execution := s.Begin(t, run, c.document)
		_, _ = system.End(t, execution) // two of them fail
		description, err := s.Temporal.DescribeWorkflow(t.Context(), execution.Workflow, "")
		require.NoError(t, err)
		summary, err := description.GetStaticSummary()
		require.NoError(t, err)
		require.Contains(t, summary, run)
		details, err := description.GetStaticDetails()
		require.NoError(t, err)
		require.Contains(t, details, "`waymark status "+run+"`")
		var memo workflows.Memo
		require.NoError(t, converter.GetDefaultDataConverter().FromPayload(description.Memo.GetFields()[workflows.MemoKey], &memo))
		require.Equal(t, run, memo.Run)
		require.Equal(t, "tester", memo.Actor)
		if run != "r3" {
			on, err := s.Log.Run(t.Context(), run)
			require.NoError(t, err)
			require.Equal(t, workflows.Memo{Run: run, Pipeline: "orders", Document: on.DocumentSHA256, Trigger: activities.TriggerLibrary, Actor: "tester"}, memo)
		}
		now := currentDetails(t, s, execution.Workflow)
		for _, words := range c.now {
			require.Contains(t, now, words)
		}
	}
}

// currentDetails asks a worker for the details of a workflow as they are now.
func currentDetails(t *testing.T, s *system.System, id string) string {
	t.Helper()
	answer, err := s.Temporal.QueryWorkflow(t.Context(), id, "", "__temporal_workflow_metadata")
	require.NoError(t, err)
	var metadata sdkpb.WorkflowMetadata
	require.NoError(t, answer.Get(&metadata))
	return metadata.GetCurrentDetails()
}

// queried returns the ids of the workflows that a query finds.
func queried(t *testing.T, s *system.System, query string) (ids []string) {
	t.Helper()
	answer, err := s.Temporal.ListWorkflow(context.WithoutCancel(t.Context()), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
	require.NoError(t, err)
	for _, execution := range answer.GetExecutions() {
		ids = append(ids, idIn(execution))
	}
	return ids
}

func idIn(execution *workflow.WorkflowExecutionInfo) string {
	return execution.GetExecution().GetWorkflowId()
}

// requireListed requires that a query finds these workflows: not at once, for Temporal indexes them by and by.
func requireListed(t *testing.T, s *system.System, query string, ids ...string) {
	t.Helper()
	var found []string
	require.Eventually(t, func() bool {
		found = queried(t, s, query)
		return len(found) == len(ids)
	}, 20*time.Second, 20*time.Millisecond, "%s", query)
	require.ElementsMatch(t, ids, found)
}
