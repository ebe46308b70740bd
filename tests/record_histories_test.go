package tests

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/activities/bundle"
	"waymark/client"
	"waymark/landscape"
	"waymark/tests/system"
	"waymark/workflows"
	"waymark/workflows/slots"
)

var recording = flag.Bool("record", false, "record the histories of tests/histories that are not there (make record-history)")

// histories is the folder of the recorded histories.
const histories = "histories/testdata"

const recorded = `
name: recorded
chunk: {rows: 100}
sources:
  in:
    csv: {path: in.csv}
    schema: {fields: {id: int, kind: string, note: string}}
steps:
  - {name: keep, filter: row.id % 10 != 0}
  - {name: sort, gate: row.kind == 'a', routes: {"true": a, "false": continue}}
sinks:
  a: {jsonl: {path: out/a.jsonl, overwrite: true}}
  b: {csv: {path: out/b.csv, overwrite: true}, from: sort}
`

// recordedGraph has barriers: a held coalesce with a timeout, an aggregate, two sources.
const recordedGraph = `
name: recorded
chunk: {rows: 100}
sources:
  in: {csv: {path: in.csv}, schema: {fields: {id: int, kind: string, note: string}}}
  more: {csv: {path: more.csv}, schema: {fields: {id: int, kind: string, note: string}}}
steps:
  - {name: both, fork: [slow, quick]}
  - {name: best, from: slow, sort: {by: {id: desc}}, trigger: {rows: 150}}
  - {name: meet, coalesce: {slow: best, quick: quick}, timeout: 1h}
  - {name: sums, from: meet, aggregate: {group_by: [kind], compute: {n: count()}}, trigger: {rows: 200}}
sinks:
  a: {jsonl: {path: out/a.jsonl, overwrite: true}, from: sums}
`

// recordedWide has so many sources, barriers and sinks that what is small is done together.
func recordedWide() string {
	var sources, steps, sinks strings.Builder
	for i := range 10 {
		fmt.Fprintf(&sources, "  s%d: {csv: {path: few.csv}, schema: {fields: {id: int, kind: string, note: string}}}\n", i)
		fmt.Fprintf(&steps, "  - {name: a%d, from: s%d, aggregate: {group_by: [kind], compute: {n: count()}}}\n", i, i)
		fmt.Fprintf(&sinks, "  o%d: {jsonl: {path: out/o%d.jsonl, overwrite: true}, from: a%d}\n", i, i, i)
	}
	return "name: recorded\nsources:\n" + sources.String() + "steps:\n" + steps.String() + "sinks:\n" + sinks.String()
}

// TestRecord records the histories of runs that take every way through the workflow. What is recorded is never recorded
// again: it stands for the code of its time.
func TestRecord(t *testing.T) {
	if !*recording {
		t.Skip("histories are recorded by `make record-history` only")
	}
	s := recorder{system.Start(t, nil)}
	files := map[string]string{"in.csv": canaries(1234, false), "more.csv": canaries(345, false), "bad.csv": canaries(1234, true), "few.csv": canaries(5, false), "few-bad.csv": canaries(105, true), "empty.csv": "id,kind,note\n"}
	s.Write(t, files)
	s.record(t, "completed", recorded, true)
	s.record(t, "refused", strings.Replace(recorded, "in.csv", "bad.csv", 1), true)
	s.record(t, "empty", strings.Replace(recorded, "in.csv", "empty.csv", 1), true)
	s.record(t, "unique", strings.Replace(recorded, "id: int,", "id: {type: int, unique: true},", 1), true)
	s.record(t, "unique-graph", strings.NewReplacer("sinks:", "  - {name: once, deduplicate: {key: [n]}}\nsinks:", "from: sums}", "from: once}").Replace(recordedGraph), true)
	s.record(t, "failed", strings.Replace(strings.Replace(recorded, "in.csv", "bad.csv", 1), "    schema:", "    on_invalid: fail\n    schema:", 1), false)
	s.record(t, "invalid", "name: nothing\n", false)
	s.record(t, "graph", recordedGraph, true)
	s.record(t, "wide", recordedWide(), true)
	s.record(t, "small", strings.NewReplacer("chunk: {rows: 100}\n", "", "in.csv", "few.csv").Replace(recorded), true)
	s.record(t, "small-failed", strings.NewReplacer("chunk: {rows: 100}\n", "", "in.csv", "few-bad.csv", "    schema:", "    on_invalid: fail\n    schema:").Replace(recorded), false)
	s.recordCancelled(t)
	s.recordDeadline(t)
	s.recordOrders(t, "ordered")
	s.recordResumed(t, "resumed", recorded)
	s.recordResumed(t, "resumed-graph", strings.NewReplacer("trigger: {rows: 200}", "trigger: {after: 20ms}", "rows: 100}", "rows: 500}").Replace(recordedGraph))
	recordAsked(t, "asked")
	recordAskedOrders(t, "asked-ordered")
	recordEarly(t, "early-orders")
	recordIdle(t, "idle-orders")
	recordListed(t, "listed")
	s.recordLooked(t, "looked")
	recordFired(t, "fired")
	recordWaiting(t)
	recordGaveWay(t, "gave-way")
	recordOutlived(t, "outlived")
	long := recorder{system.Start(t, map[string]any{"limit.historyCount.suggestContinueAsNew": 100})}
	long.Write(t, files)
	long.record(t, "long", recorded, true)
	long.record(t, "long-graph", recordedGraph, true)
	split := recorder{system.StartWith(t, system.Options{Split: 1})}
	split.Write(t, files)
	split.record(t, "split", recorded, true)
	if !isRecorded("bad-completed") {
		spoil(t, "completed", `"Pass"`, `"Publish"`)
	}
	if !isRecorded("bad-small") {
		spoil(t, "small", `"LocalActivity"`, `"SideEffect"`)
	}
	if !isRecorded("bad-graph") {
		spoil(t, "graph", `"Fold"`, `"Write"`)
	}
}

// isRecorded reports whether a history is recorded.
func isRecorded(name string) bool {
	_, err := os.Stat(filepath.Join(histories, name+".json"))
	return err == nil
}

// canaries returns rows with a canary in every note. Every 100th is broken if broken says so.
func canaries(rows int, broken bool) string {
	var b strings.Builder
	b.WriteString("id,kind,note\n")
	for i := range rows {
		if broken && i%100 == 50 {
			b.WriteString("canary,a,canary\n")
			continue
		}
		fmt.Fprintf(&b, "%d,%c,canary %d\n", i, 'a'+i%3, i)
	}
	return b.String()
}

type recorder struct{ *system.System }

func (r recorder) record(t *testing.T, name, document string, completes bool) {
	t.Helper()
	if isRecorded(name) {
		return
	}
	_, err := r.Run(t, name, document)
	require.Equal(t, completes, err == nil, "%v", err)
	r.save(t, name)
}

// recordCancelled cancels a run when its first chunk is through.
func (r recorder) recordCancelled(t *testing.T) {
	t.Helper()
	if isRecorded("cancelled") {
		return
	}
	r.Write(t, map[string]string{"many.csv": canaries(200_000, false)})
	run := r.Begin(t, "cancelled", strings.Replace(recorded, "in.csv", "many.csv", 1))
	r.awaitRows(t, "cancelled")
	require.NoError(t, r.Temporal.CancelWorkflow(t.Context(), run.Workflow, ""))
	_, err := system.End(t, run)
	require.Error(t, err)
	r.save(t, "cancelled")
}

// recordDeadline has a batch that is due while the rows go on.
func (r recorder) recordDeadline(t *testing.T) {
	t.Helper()
	r.Write(t, map[string]string{"many.csv": canaries(40_000, false)})
	r.record(t, "deadline", strings.NewReplacer("in.csv", "many.csv", "trigger: {rows: 200}", "trigger: {after: 20ms}", "rows: 100}", "rows: 2000}").Replace(recordedGraph), true)
}

// recordOrders pauses a run, lets it go on, and stops it.
func (r recorder) recordOrders(t *testing.T, name string) {
	t.Helper()
	if isRecorded(name) {
		return
	}
	r.Write(t, map[string]string{"many.csv": canaries(200_000, false)})
	run := r.Begin(t, name, strings.Replace(recorded, "in.csv", "many.csv", 1))
	r.awaitRows(t, name)
	by := client.By{Actor: "ann", Why: "to record it"}
	found, err := r.Client.Find(t.Context(), name)
	require.NoError(t, err)
	_, err = r.Client.Pause(t.Context(), found, by)
	require.NoError(t, err)
	_, err = r.Client.Resume(t.Context(), found, client.ResumeRequest{By: by})
	require.NoError(t, err)
	_, err = r.Client.Cancel(t.Context(), found, by, false)
	require.NoError(t, err)
	_, err = system.End(t, run)
	require.NoError(t, err)
	r.save(t, name)
}

// recordAsked starts a run as a stranger does: in the name of a workflow of theirs, whose history it saves.
func recordAsked(t *testing.T, name string) {
	t.Helper()
	if isRecorded(name) {
		return
	}
	r := recorder{offering(t, map[string]string{"recorded.yaml": recorded, "in.csv": canaries(1234, false)})}
	require.NoError(t, system.Execute(t, r.Temporal, name, map[string]any{"pipeline": "recorded"}).Get(t.Context(), nil))
	r.saveAs(t, name, name)
}

// recordEarly has a run that is paused before it is open.
func recordEarly(t *testing.T, name string) {
	t.Helper()
	if isRecorded(name) {
		return
	}
	r, order := recorder{offering(t, map[string]string{"recorded.yaml": recorded, "in.csv": canaries(1234, false)})}, map[string]any{"actor": "ann", "why": "to record it"}
	run, err := startPaused(t, r.Temporal, name, map[string]any{"pipeline": "recorded", "run": name}, order)
	require.NoError(t, err)
	require.NoError(t, system.Give(t, r.Temporal, run.GetID(), workflows.ContinueUpdate, order))
	require.NoError(t, run.Get(t.Context(), nil))
	r.save(t, name)
}

// recordIdle has a run that is paused, and continued, twice.
func recordIdle(t *testing.T, name string) {
	t.Helper()
	if isRecorded(name) {
		return
	}
	r, order := recorder{offering(t, map[string]string{"recorded.yaml": recorded, "in.csv": canaries(1234, false)})}, map[string]any{"actor": "ann", "why": "to record it"}
	run, err := startPaused(t, r.Temporal, name, map[string]any{"pipeline": "recorded", "run": name}, order)
	require.NoError(t, err)
	for _, again := range []string{workflows.PauseUpdate, workflows.ContinueUpdate} {
		require.NoError(t, system.Give(t, r.Temporal, run.GetID(), again, order))
	}
	require.NoError(t, run.Get(t.Context(), nil))
	r.save(t, name)
}

// recordWaiting has a run that holds a place, one that waits for it, one that is cancelled while it does, one that
// takes its place, and one that is skipped.
func recordWaiting(t *testing.T) {
	t.Helper()
	if isRecorded("waiting") {
		return
	}
	d := open(t)
	document := recorded + "concurrency: {runs: 1, when_full: POLICY}\n"
	d.Write(t, map[string]string{"in.csv": canaries(1234, false)})
	asked := map[string]sdk.WorkflowRun{"r": d.holder(t, strings.Replace(document, "POLICY", "queue", 1))}
	for _, ask := range [][2]string{{"waiting", "queue"}, {"waiting-cancelled", "queue"}, {"skipped", "skip"}, {"joined", "join"}} {
		asked[ask[0]] = d.ask(t, ask[0], strings.Replace(document, "POLICY", ask[1], 1))
		if ask[1] == "queue" {
			d.becomes(t, ask[0], landscape.StartWaiting)
		}
	}
	require.NoError(t, system.Give(t, d.Temporal, "run-waiting-cancelled", workflows.CancelUpdate, map[string]any{"actor": "ann", "why": "to record it"}))
	d.order(t, workflows.ContinueUpdate)
	for _, run := range asked {
		require.NoError(t, run.Get(t.Context(), nil))
	}
	for _, name := range []string{"waiting", "waiting-cancelled", "skipped", "joined"} {
		recorder{d.System}.save(t, name)
	}
}

// recordGaveWay lets a run give way to another one.
func recordGaveWay(t *testing.T, name string) {
	t.Helper()
	if isRecorded(name) {
		return
	}
	d := open(t)
	document := recorded + "concurrency: {runs: 1, when_full: cancel}\n"
	d.Write(t, map[string]string{"in.csv": canaries(1234, false)})
	holder := d.holder(t, document)
	require.NoError(t, d.ask(t, "next", document).Get(t.Context(), nil))
	require.NoError(t, holder.Get(t.Context(), nil))
	recorder{d.System}.saveAs(t, name, holder.GetID())
}

// recordOutlived records a workflow of another name than its run has, which is resumed after somebody closed the run's
// workflow.
func recordOutlived(t *testing.T, name string) {
	t.Helper()
	if isRecorded(name) {
		return
	}
	d := open(t)
	d.Write(t, map[string]string{"in.csv": canaries(1234, false)})
	digest, err := d.Payloads.Put(t.Context(), []byte(recorded))
	require.NoError(t, err)
	asked := system.Execute(t, d.Temporal, "mine", workflows.RunInput{OpenInput: activities.OpenInput{Run: "r", Document: string(digest), File: "pipeline.yaml", Folder: d.Folder}})
	d.becomes(t, "r", landscape.StartBegun)
	require.NoError(t, system.Give(t, d.Temporal, "mine", workflows.PauseUpdate, map[string]any{"actor": "ann", "why": "to see"}))
	require.NoError(t, d.Temporal.TerminateWorkflow(t.Context(), workflows.WorkflowID("r"), "", "its process ended"))
	_, err = system.End(t, system.Resume(t, d.Client, "r", "its process ended"))
	require.NoError(t, err)
	require.NoError(t, asked.Get(t.Context(), nil))
	recorder{d.System}.saveAs(t, name, asked.GetID())
}

// recordListed lists the pipelines.
func recordListed(t *testing.T, name string) {
	t.Helper()
	if isRecorded(name) {
		return
	}
	r := recorder{offering(t, map[string]string{"recorded.yaml": recorded})}
	options := sdk.StartWorkflowOptions{ID: name, TaskQueue: workflows.TaskQueue}
	run, err := r.Temporal.ExecuteWorkflow(t.Context(), options, workflows.ListPipelinesName)
	require.NoError(t, err)
	require.NoError(t, run.Get(t.Context(), nil))
	r.saveAs(t, name, name)
}

// recordLooked lets a worker look at what a version would read and write.
func (r recorder) recordLooked(t *testing.T, name string) {
	t.Helper()
	if isRecorded(name) {
		return
	}
	version := bundle.Bundle{Name: "recorded.yaml", Source: []byte(recorded)}
	require.NoError(t, bundle.Put(t.Context(), r.Payloads, version))
	options := sdk.StartWorkflowOptions{ID: name, TaskQueue: workflows.TaskQueue}
	in := activities.PreflightInput{Bundle: string(version.Manifest().Digest()), Environment: landscape.DefaultEnvironment}
	run, err := r.Temporal.ExecuteWorkflow(t.Context(), options, workflows.PreflightName, in)
	require.NoError(t, err)
	require.NoError(t, run.Get(t.Context(), nil))
	r.saveAs(t, name, name)
}

// recordFired lets Temporal fire for a schedule.
func recordFired(t *testing.T, name string) {
	t.Helper()
	if isRecorded(name) {
		return
	}
	s := serveSchedules(t, t.TempDir())
	s.scheduledPipeline(t, "often", "beat: {every: 2s}")
	r, query := recorder{&system.System{Temporal: s.Temporal(t)}}, "WorkflowType = '"+slots.FiredName+"' and ExecutionStatus = 'Completed'"
	var fired []*workflow.WorkflowExecutionInfo
	require.Eventually(t, func() bool {
		answer, err := r.Temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		fired = answer.GetExecutions()
		return err == nil && len(fired) > 0
	}, patience, 200*time.Millisecond)
	r.saveAs(t, name, fired[0].GetExecution().GetWorkflowId())
}

// recordAskedOrders is recordAsked for a run that its starter pauses, continues and cancels.
func recordAskedOrders(t *testing.T, name string) {
	t.Helper()
	if isRecorded(name) {
		return
	}
	r := recorder{offering(t, map[string]string{"recorded.yaml": recorded, "in.csv": canaries(200_000, false)})}
	run := system.Execute(t, r.Temporal, name, map[string]any{"pipeline": "recorded", "run": "r"})
	r.awaitRows(t, "r")
	for _, order := range []string{workflows.PauseUpdate, workflows.ContinueUpdate, workflows.CancelUpdate} {
		require.NoError(t, system.Give(t, r.Temporal, name, order, map[string]any{"actor": "ann", "why": "to record it"}))
	}
	require.NoError(t, run.Get(t.Context(), nil))
	r.saveAs(t, name, name)
}

// recordResumed terminates the workflow of a run and takes the run up.
func (r recorder) recordResumed(t *testing.T, name, document string) {
	t.Helper()
	if isRecorded(name) {
		return
	}
	r.Write(t, map[string]string{"some.csv": canaries(3_000, false)})
	run := r.Begin(t, name, strings.Replace(document, "in.csv", "some.csv", 1))
	r.awaitRows(t, name)
	require.NoError(t, r.Temporal.TerminateWorkflow(t.Context(), run.Workflow, "", "to record what follows"))
	_, err := system.End(t, system.Resume(t, r.Client, name, "to record it"))
	require.NoError(t, err)
	r.save(t, name)
}

// awaitRows waits until a sink has confirmed a part.
func (r recorder) awaitRows(t *testing.T, run string) {
	t.Helper()
	require.Eventually(t, func() bool {
		progress, err := r.Log.Progress(context.Background(), run)
		return err == nil && progress.Finalized > 0
	}, patience, 10*time.Millisecond)
}

// save writes the histories of all executions of the run's workflow: those that continued as new are numbered.
func (r recorder) save(t *testing.T, run string) {
	t.Helper()
	r.saveAs(t, run, workflows.WorkflowID(run))
}

func (r recorder) saveAs(t *testing.T, as, id string) {
	t.Helper()
	execution := r.first(t, id)
	for n := 1; execution != ""; n++ {
		events := system.Events(t, r.Temporal, id, execution)
		name := as
		if n > 1 {
			name = fmt.Sprintf("%s-%d", as, n)
		}
		content, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(&history.History{Events: events})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(histories, name+".json"), content, 0o600))
		execution = events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
}

// first returns the first execution of the workflow.
func (r recorder) first(t *testing.T, workflow string) string {
	t.Helper()
	description, err := r.Temporal.DescribeWorkflowExecution(context.Background(), workflow, "")
	require.NoError(t, err)
	return description.GetWorkflowExecutionInfo().GetFirstRunId()
}

// spoil makes a history in which the code once decided otherwise.
func spoil(t *testing.T, name, old, new string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(histories, name+".json"))
	require.NoError(t, err)
	require.Contains(t, string(content), old)
	changed := strings.Replace(string(content), old, new, 1)
	require.True(t, json.Valid([]byte(changed)))
	require.NoError(t, os.WriteFile(filepath.Join(histories, "bad-"+name+".json"), []byte(changed), 0o600))
}
