package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"waymark/landscape"
	"waymark/tests/fixtures"
	"waymark/tests/serving"
	"waymark/tests/system"
	"waymark/workflows"
)

// holder writes the document of a run that writes to the targets of all ways, slowly enough to be paused, and returns its file.
func (d *doorsteps) holder(t *testing.T) (file string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(d.Folder, "many.csv"), []byte(fixtures.Numbered(0, 20_000)), 0o600))
	var branches, sinks []string
	for i, w := range ways {
		branches = append(branches, fmt.Sprint("b", i))
		sinks = append(sinks, fmt.Sprintf("  s%d: {from: b%[1]d, csv: {path: %[2]q, overwrite: true}}\n", i, filepath.Join(d.Folder, "out", w.target("busy", i))))
	}
	document := fmt.Sprintf(`
name: holder
chunk: {rows: 100}
sources: {in: {csv: {path: %q}, schema: {fields: {id: int, kind: string}}}}
steps: [{name: few, filter: row.id < 2}, {name: all, fork: [%s]}]
sinks:
%s`, filepath.Join(d.Folder, "many.csv"), strings.Join(branches, ", "), strings.Join(sinks, ""))
	require.NoError(t, os.WriteFile(filepath.Join(d.Folder, "holder.yaml"), []byte(document), 0o600))
	return "holder.yaml"
}

// hold begins the run of the holder, and pauses it.
func (d *doorsteps) hold(t *testing.T) {
	t.Helper()
	_, err := d.temporal.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{ID: workflows.WorkflowID("holder"), TaskQueue: workflows.TaskQueue}, workflows.RunPipelineName,
		map[string]string{"pipeline": "holder", "run": "holder"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return system.Give(t, d.temporal, workflows.WorkflowID("holder"), workflows.PauseUpdate, workflows.Command{Actor: "ann", Why: "to hold the targets"}) == nil
	}, patience, 10*time.Millisecond, "it can be paused when it has begun")
}

// release lets the holder end.
func (d *doorsteps) release(t *testing.T) {
	t.Helper()
	require.NoError(t, system.Give(t, d.temporal, workflows.WorkflowID("holder"), workflows.ContinueUpdate, workflows.Command{Actor: "ann", Why: "all wait"}))
}

// requireWaiting requires that the runs of all ways wait for the holder, and that starts, queue and status say so in the same words.
func (d *doorsteps) requireWaiting(t *testing.T, c cause) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(filepath.Join(d.Folder, "out"))
	require.NoError(t, err)
	words := map[string]string{} // by the reason, the way
	for i, w := range ways {
		if w.can(c) {
			words[filepath.Join(folder, w.target(c.pipeline, i))+" is being written by run holder"] = w.name
		}
	}
	var waiting map[string]string
	require.Eventually(t, func() bool {
		starts, err := d.log.Starts(t.Context(), landscape.StartWaiting, nil, 0)
		waiting = map[string]string{}
		for _, start := range starts {
			if words[start.Reason] != "" {
				waiting[start.Run] = start.Reason
			}
		}
		return err == nil && len(waiting) == len(words)
	}, patience, 50*time.Millisecond, "%d ways; these wait: %v", len(words), &waiting)
	inStarts, inQueue := d.reasons(t, "starts", "--only", "waiting"), d.reasons(t, "queue")
	for run, reason := range waiting {
		status, err := d.served.Waits(t.Context(), run)
		require.NoError(t, err)
		require.NotNil(t, status, words[reason])
		require.Equal(t, []string{reason, reason, reason}, []string{inStarts[run], inQueue[run], status.Reason}, words[reason])
	}
}

// reasons are those that a command lists, by run.
func (d *doorsteps) reasons(t *testing.T, args ...string) map[string]string {
	t.Helper()
	reasons := map[string]string{}
	for _, one := range serving.Listed[struct {
		Run    string `json:"run"`
		Reason string `json:"reason"`
	}](t, d.Server, args...) {
		reasons[one.Run] = one.Reason
	}
	return reasons
}

// requireAfterHolder requires that a run began when the holder had ended.
func (d *doorsteps) requireAfterHolder(t *testing.T, w way, run string) {
	t.Helper()
	holder, err := d.log.Run(t.Context(), "holder")
	require.NoError(t, err)
	began, err := d.log.Run(t.Context(), run)
	require.NoError(t, err)
	require.LessOrEqual(t, holder.Finished, began.Started, w.name)
}
