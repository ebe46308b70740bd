package workers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/system"
	"waymark/workflows"
)

// TestRowsComeWithARequestToACluster: who waits for a run that no worker has recorded yet hears that it was accepted. Rows are durable when the start is accepted, and no worker is there; they travel as the digest of a payload, and no other run can read them.
func TestRowsComeWithARequestToACluster(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	c := startCluster(t)
	document := strings.ReplaceAll(`
name: asked
params: {out: {type: string}}
chunk: {rows: 100}
sources: {in: {webhook: {}, key: [id], schema: {mode: flexible, fields: {id: int}}}}
sinks: {out: {jsonl: {path: "s3://BUCKET/out/${param:out}", parts: true, s3: {path_style: true}}}}
`, "BUCKET", c.bucket.Name)
	require.NoError(t, os.WriteFile(filepath.Join(c.folder, "asked.yaml"), []byte(document), 0o600))
	var rows []json.RawMessage
	want := ""
	for i := range 2_000 {
		row := fmt.Sprintf(`{"id":%d,"note":"%s"}`, i, strings.Repeat("x", 1_000))
		rows, want = append(rows, json.RawMessage(row)), want+row+"\n"
	}
	ask := func(run, source string) *client.Execution {
		return system.Begin(t, c.home.Client, client.StartRequest{
			Run: run, Pipeline: "asked", Params: map[string]string{"out": run}, Rows: map[string][]json.RawMessage{source: rows},
		})
	}
	run := ask("given", "in")
	c.deploySmall()
	c.serve()
	status, err := c.askSmall(time.Second)
	require.NoError(t, err)
	require.Equal(t, "accepted", status)
	worker := c.worker("one")
	await(t, "the start is decided", func() bool {
		begun, err := c.log.LastStart(t.Context(), "given")
		return err == nil && begun.Decided != 0
	})
	decided, err := c.log.LastStart(t.Context(), "given")
	require.NoError(t, err)
	require.Equal(t, landscape.StartBegun, decided.State, decided.Reason)
	c.reached("given", 500)
	worker.kill()
	worker = c.worker("two")
	defer worker.end()
	result, err := system.End(t, run)
	require.NoError(t, err)
	require.Equal(t, pipeline.Completed, result.Status)
	require.Equal(t, want, c.parts("out/given"))
	c.verify("given")
	for _, event := range system.Events(t, c.temporal, run.Workflow, "") {
		require.Less(t, len(event.String()), 32<<10, "rows are in the history")
	}

	_, err = c.runSmall()
	require.NoError(t, err)

	_, err = system.End(t, ask("wrong", "other"))
	require.ErrorContains(t, err, "no source", "the workers say so")
	begun, err := c.log.StartOfRun(t.Context(), "given")
	require.NoError(t, err)
	kept, err := begun.RequestRows()
	require.NoError(t, err)
	stolen, err := c.temporal.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{ID: workflows.WorkflowID("stolen"), TaskQueue: workflows.TaskQueue}, workflows.RunPipelineName,
		map[string]any{"run": "stolen", "pipeline": "asked", "params": map[string]string{"out": "stolen"}, "rows": kept})
	require.NoError(t, err)
	require.Error(t, stolen.Get(t.Context(), nil), "what came with the request for another run")
	var read int
	require.NoError(t, landscape.Each(t.Context(), c.log.Reader, func(chunk landscape.Chunk) bool {
		if chunk.Run == "stolen" {
			read++
		}
		return true
	}))
	require.Zero(t, read)
}
