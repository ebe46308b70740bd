package workers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/audit"
	"waymark/client"
	"waymark/client/local"
	"waymark/pipeline"
	"waymark/tests/system"
	"waymark/workflows"
)

// sceneHeartbeat is the timeout after which another process gets the next attempt at an activity.
const sceneHeartbeat = 1500 * time.Millisecond

// scene is one run with a record, payloads and outputs of its own, on a Temporal server that other scenes use too.
type scene struct {
	t        *testing.T
	folder   string // of the document and its outputs
	state    string
	run      string
	address  string
	home     *local.Home
	temporal sdk.Client
	latest   *client.Execution // of the run
	launched int
}

// newScene makes a scene for a run of the document, with what an earlier run published at the outputs' places.
func newScene(t *testing.T, server *temporal) *scene {
	t.Helper()
	folder := t.TempDir()
	s := &scene{
		t: t, folder: filepath.Join(folder, "documents"), state: filepath.Join(folder, "state"),
		run: fmt.Sprintf("run-%d", server.runs.Add(1)), address: server.address,
	}
	require.NoError(t, os.Mkdir(s.state, 0o700))
	require.NoError(t, os.CopyFS(s.folder, os.DirFS("testdata/zombies")))
	require.NoError(t, os.WriteFile(filepath.Join(s.folder, "orders.csv"), []byte(sceneOrders(inputRows)), 0o600))
	home, session := system.Open(t, local.Options{State: local.Folder(s.state), Cluster: &client.Cluster{Address: s.address, Queue: s.run}})
	s.home, s.temporal = home, session.Temporal
	return s
}

const (
	inputRows   = 60
	wantRefused = 6
)

// sceneOrders returns rows of which some are refused, some come twice, and some end early.
func sceneOrders(rows int) string {
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
	self, err := os.Executable()
	require.NoError(s.t, err)
	command := exec.Command(self, args...)
	command.Env = append(os.Environ(), workerVariable+"=yes", "WAYMARK_HEARTBEAT="+sceneHeartbeat.String())
	command.Env = append(command.Env, environment...)
	return launch(s.t, name, command)
}

// begin starts the run of a document that the workers compile.
func (s *scene) begin() {
	s.t.Helper()
	document, err := client.Open(filepath.Join(s.folder, "pipeline.yaml"), nil)
	require.NoError(s.t, err)
	s.latest = system.Begin(s.t, s.home.Client, client.StartRequest{Run: s.run, Document: document})
}

// resume ends the workflow as if its process were gone, and resumes the run.
func (s *scene) resume() {
	s.t.Helper()
	const why = "its process stands still"
	require.NoError(s.t, s.temporal.TerminateWorkflow(s.t.Context(), s.latest.Workflow, "", why))
	s.latest = system.Resume(s.t, s.home.Client, s.run, why)
}

// resumable reports whether the run has a record, and is not complete.
func (s *scene) resumable() bool {
	s.t.Helper()
	record, recorded, err := s.latest.Recorded(s.t.Context())
	require.NoError(s.t, err)
	return recorded && record.Resumable() == nil
}

// over reports whether the workflow ended.
func (s *scene) over() bool {
	s.t.Helper()
	description, err := s.temporal.DescribeWorkflowExecution(s.t.Context(), s.latest.Workflow, "")
	require.NoError(s.t, err)
	return description.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// finish waits until the run is complete.
func (s *scene) finish() {
	s.t.Helper()
	result, err := system.End(s.t, s.latest)
	require.NoError(s.t, err)
	require.Len(s.t, result.Outputs, 3)
	result.Ending = activities.Ending{}
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
	report, err := s.home.Verify(s.t.Context(), s.run, audit.VerifyOptions{})
	require.NoError(s.t, err)
	require.Empty(s.t, report.Problems)
}
