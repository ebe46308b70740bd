package pages_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/pipeline"
	"waymark/tests/browser"
	"waymark/tests/sample"
	"waymark/tests/serving"
	"waymark/workflows"
)

// temporalsPages are Temporal's web pages in a browser.
type temporalsPages struct {
	*browser.Browser
	site string
}

// start fills in the form that starts a workflow, and sends it off.
func (p temporalsPages) start(t *testing.T, id, input string) {
	t.Helper()
	p.Do(t, chromedp.Navigate(p.site+"/start-workflow"), chromedp.WaitVisible("#workflowId"))
	for field, text := range map[string]string{"#workflowId": id, "#taskQueue": workflows.TaskQueue, "#workflowType": workflows.RunPipelineName} {
		p.Write(t, field, text)
	}
	p.Write(t, ".cm-content", input)
	p.Write(t, "#workflowType", workflows.RunPipelineName) // the editor formats what was written when it is left
	p.Await(t, "Task Queue is Active")
	p.Shot(t, id+"-1-form")
	p.Click(t, `[data-testid="start-workflow-button"]`)
	p.Await(t, "Workflow started successfully")
}

// open opens the page of a workflow.
func (p temporalsPages) open(t *testing.T, id string, words ...string) {
	t.Helper()
	p.Do(t, chromedp.Navigate(p.site+"/"+id))
	p.Await(t, words...)
}

// TestTemporalsPages starts runs as a person does on Temporal's pages, in a real browser: what they show of a run and of a bad input, and that
// nobody does harm to a run there.
func TestTemporalsPages(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	window := browser.Open(t, 1400, 1300)
	s := serving.StartForStrangers(t)
	p := temporalsPages{window, "http://" + s.Pages + "/namespaces/default/workflows"}

	p.start(t, "ann-wants-orders", `{"pipeline": "orders"}`)
	require.NoError(t, s.Give(t, "ann-wants-orders", workflows.PauseUpdate, map[string]any{"actor": "ann", "why": "to look at it"}))
	run := serving.Listed[serving.Run](t, s.Server, "runs")[0]
	own := workflows.WorkflowID(run.Run)
	p.open(t, own, "RUNNING")
	p.Press(t, "User Metadata")
	p.Await(t, "Paused by ann: to look at it")
	p.Shot(t, "ann-wants-orders-2-paused")
	require.NoError(t, s.Give(t, "ann-wants-orders", workflows.ContinueUpdate, map[string]any{"actor": "ann", "why": "seen"}))
	s.Web.Release()
	p.open(t, "ann-wants-orders", "COMPLETED", `"status": "completed_with_failures"`)
	p.Shot(t, "ann-wants-orders-3-finished")
	p.open(t, own, "COMPLETED")
	p.Press(t, "User Metadata")
	p.Await(t, fmt.Sprint(serving.StrangersRows, " rows read"), "waymark errors "+run.Run)
	p.Shot(t, "ann-wants-orders-4-details")

	p.start(t, "bob-tries", `{"pipelines": "orders"}`)
	p.open(t, "bob-tries", "FAILED", `the input has the unknown key`, `did you mean`)
	p.Shot(t, "bob-tries-2-failed")

	before, err := os.ReadFile(filepath.Join(s.Folder, "out", "orders.jsonl"))
	require.NoError(t, err)
	p.open(t, own, "COMPLETED")
	p.Press(t, "Reset")
	p.Click(t, "dialog[open] #reset-event-id-select li:nth-child(2)") // the first decision of the workflow
	p.Write(t, "dialog[open] #reset-reason", "to see")
	p.Shot(t, "reset-1-form")
	p.Press(t, "Confirm")
	p.open(t, own, "FAILED", "RUN_EXISTS")
	p.Shot(t, "reset-2-failed")
	reset := s.Temporal(t).GetWorkflow(t.Context(), own, "")
	require.ErrorContains(t, reset.Get(t.Context(), nil), "RUN_EXISTS")

	p.Press(t, "More Actions")
	p.Press(t, "Start Workflow Like This One")
	p.Do(t, chromedp.WaitVisible("#workflowId"))
	p.Await(t, `"run": "`+run.Run+`"`, "Task Queue is Active")
	p.Shot(t, "like-1-form")
	p.Press(t, "Start Workflow")
	p.Await(t, "Workflow started successfully")
	again := s.Temporal(t).GetWorkflow(t.Context(), own, "")
	require.ErrorContains(t, again.Get(t.Context(), nil), "RUN_EXISTS")
	require.NotEqual(t, reset.GetRunID(), again.GetRunID())
	p.open(t, own, "FAILED", "RUN_EXISTS")
	p.Shot(t, "like-2-failed")

	after, err := os.ReadFile(filepath.Join(s.Folder, "out", "orders.jsonl"))
	require.NoError(t, err)
	require.Equal(t, before, after)
	only := serving.Run{Run: run.Run, Status: pipeline.CompletedWithFailures, Trigger: activities.TriggerTemporal}
	require.Equal(t, []serving.Run{only}, serving.Listed[serving.Run](t, s.Server, "runs"))
	s.Waymark(t, "verify", run.Run)
}
