package zombies

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/audit"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/pipeline"
	"waymark/worker"
	"waymark/workflows"
)

// scene is one run with a record, payloads and outputs of its own, on a Temporal server that other scenes use too.
type scene struct {
	t        *testing.T
	folder   string // of the document and its outputs
	state    string
	run      string
	address  string
	client   client.Client
	log      *landscape.Log
	payloads *payload.Store
	launched int
}

// newScene makes a scene for a run of the document, with what an earlier run published at the outputs' places.
func newScene(t *testing.T, server *temporal) *scene {
	t.Helper()
	folder := t.TempDir()
	s := &scene{
		t: t, folder: filepath.Join(folder, "documents"), state: filepath.Join(folder, "state"),
		run: fmt.Sprintf("run-%d", server.runs.Add(1)), address: server.address, client: server.client,
	}
	require.NoError(t, os.Mkdir(s.state, 0o700))
	require.NoError(t, os.CopyFS(s.folder, os.DirFS("testdata")))
	require.NoError(t, os.WriteFile(filepath.Join(s.folder, "orders.csv"), []byte(orders(inputRows)), 0o600))
	driver, err := sqlitestore.Open(t.Context(), filepath.Join(s.state, "landscape.db"), sqlitestore.Options{Create: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, driver.Close()) })
	objects, err := fsstore.Create(filepath.Join(s.state, "payloads"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, objects.Close()) })
	s.log, s.payloads = landscape.New(driver, nil), payload.New(objects, payload.Options{})
	return s
}

const (
	inputRows   = 60
	wantRefused = 6
)

// orders returns rows of which some are refused, some come twice, and some end early.
func orders(rows int) string {
	var b strings.Builder
	b.WriteString("id,customer,country,total\n")
	for i := range rows {
		id, country, total := strconv.Itoa(i), []string{"DE", "FR", "IT", "", "ES"}[i*7%5], fmt.Sprintf("%d.%02d", i*37%1000, i*13%100)
		switch i % 23 {
		case 7:
			id = strconv.Itoa(i - 3) // as before
		case 11:
			total = "a lot"
		}
		fmt.Fprintf(&b, "%s,customer %d,%s,%s\n", id, i%9, country, total)
	}
	return b.String()
}

// worker starts a process that works for the run and comes to the moments of the plan.
func (s *scene) worker(name, plan string, atOnce int, flags ...string) *process {
	s.t.Helper()
	flags = append(flags, "-state", s.state, "-at-once", strconv.Itoa(atOnce))
	return s.launch(name, []string{"WAYMARK_FAILPOINTS=" + plan}, flags...)
}

// decider starts a process that decides what comes next, and does nothing else.
func (s *scene) decider() *process {
	s.t.Helper()
	return s.launch("decider", nil)
}

func (s *scene) launch(name string, environment []string, args ...string) *process {
	s.t.Helper()
	s.launched++
	name = fmt.Sprintf("%s-%02d-%s", s.run, s.launched, name)
	args = append(args, "-address", s.address, "-queue", s.run)
	program, err := buildWorker()
	require.NoError(s.t, err)
	return launch(s.t, name, filepath.Dir(s.state), append(environment, "WAYMARK_HEARTBEAT="+heartbeat.String()), program, args...)
}

// begin starts the workflow of the run.
func (s *scene) begin() {
	s.t.Helper()
	document, err := os.ReadFile(filepath.Join(s.folder, "pipeline.yaml"))
	require.NoError(s.t, err)
	digest, err := s.payloads.Put(s.t.Context(), document)
	require.NoError(s.t, err)
	s.start(workflows.RunInput{OpenInput: activities.OpenInput{
		Run: s.run, Document: string(digest), File: "pipeline.yaml", Folder: s.folder, Actor: "tester", Trigger: "test",
	}})
}

// takeUp ends the workflow as if its process were gone, and starts one that takes the run up again.
func (s *scene) takeUp() {
	s.t.Helper()
	record, err := s.log.Run(s.t.Context(), s.run)
	require.NoError(s.t, err)
	require.NoError(s.t, s.client.TerminateWorkflow(s.t.Context(), workflows.WorkflowID(s.run), "", "its process stands still"))
	s.start(workflows.RunInput{
		OpenInput: activities.OpenInput{Run: s.run},
		Resume:    &activities.ResumeInput{Run: s.run, Epoch: record.Epoch + 1, Actor: "tester", Why: "its process stands still"},
	})
}

func (s *scene) start(in workflows.RunInput) {
	s.t.Helper()
	options := client.StartWorkflowOptions{ID: workflows.WorkflowID(s.run), TaskQueue: s.run}
	_, err := s.client.ExecuteWorkflow(s.t.Context(), options, workflows.RunPipelineName, in)
	require.NoError(s.t, err)
}

// resumable reports whether the run has a record, and is not complete.
func (s *scene) resumable() bool {
	s.t.Helper()
	record, err := s.log.Run(s.t.Context(), s.run)
	if errors.Is(err, landscape.ErrNotFound) {
		return false
	}
	require.NoError(s.t, err)
	return record.Resumable() == nil
}

// over reports whether the workflow ended.
func (s *scene) over() bool {
	s.t.Helper()
	description, err := s.client.DescribeWorkflowExecution(s.t.Context(), workflows.WorkflowID(s.run), "")
	require.NoError(s.t, err)
	return description.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// finish waits until the run is complete.
func (s *scene) finish() {
	s.t.Helper()
	ctx, done := context.WithTimeout(s.t.Context(), patience)
	defer done()
	var result workflows.RunResult
	require.NoError(s.t, s.client.GetWorkflow(ctx, workflows.WorkflowID(s.run), "").Get(ctx, &result))
	require.Equal(s.t, workflows.RunResult{Run: s.run, Status: pipeline.CompletedWithFailures, Rows: inputRows, Refused: wantRefused}, result)
}

// outputs returns what lies in the folder of the outputs, by path within it.
func (s *scene) outputs() map[string]string {
	s.t.Helper()
	files := map[string]string{}
	s.lookAt(filepath.Join(s.folder, "out"), files)
	within := map[string]string{}
	for path, digest := range files {
		name, err := filepath.Rel(s.folder, path)
		require.NoError(s.t, err)
		within[name] = digest
	}
	return within
}

// verify computes everything on record again.
func (s *scene) verify() {
	s.t.Helper()
	report, err := audit.New(s.log.Reader, s.payloads, worker.Planner{}).Verify(s.t.Context(), s.run)
	require.NoError(s.t, err)
	require.Empty(s.t, report.Problems)
}
