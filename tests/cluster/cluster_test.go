// Package cluster tests a cluster as docker-compose.yml makes one, with processes of this machine.
package cluster_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"waymark/audit"
	"waymark/pipeline"
	"waymark/tests/services"
	"waymark/worker"
	"waymark/workflows"
)

var rows = flag.Int("rows", 150_000, "rows of the input")

// atOnce is how many tests go on at the same time, unless -parallel says otherwise: they mostly wait.
const atOnce = "3"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(services.MainForBuckets(m))
}

// begin starts a run of the deployed document, as people do who know its name alone.
func (c *topology) begin(out string) client.WorkflowRun {
	c.t.Helper()
	run := uuid.Must(uuid.NewV7()).String()
	options := client.StartWorkflowOptions{ID: workflows.WorkflowID(run), TaskQueue: workflows.TaskQueue}
	in := map[string]any{"run": run, "pipeline": "orders", "params": map[string]string{"out": out}}
	handle, err := c.client.ExecuteWorkflow(c.t.Context(), options, workflows.RunPipelineName, in)
	require.NoError(c.t, err)
	return handle
}

// end waits until a run has ended, whatever happens to the server meanwhile.
func (c *topology) end(handle client.WorkflowRun) workflows.RunResult {
	c.t.Helper()
	var result workflows.RunResult
	var err error
	await(c.t, "the run ends", func() bool {
		err = handle.Get(c.t.Context(), &result)
		return err == nil || !away(err)
	})
	require.NoError(c.t, err)
	require.Equal(c.t, pipeline.CompletedWithFailures, result.Status)
	return result
}

// reached waits until so many rows are read.
func (c *topology) reached(run string, rows int) {
	c.t.Helper()
	await(c.t, fmt.Sprintf("%d rows", rows), func() bool {
		progress, err := c.log.Progress(c.t.Context(), run)
		return err == nil && progress.Rows >= int64(rows)
	})
}

// home returns the queue of the process that read last.
func (c *topology) home(handle client.WorkflowRun) string {
	c.t.Helper()
	var queue string
	events := c.client.GetWorkflowHistory(c.t.Context(), handle.GetID(), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(c.t, err)
		if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled.GetActivityType().GetName() == "ReadChunk" {
			queue = scheduled.GetTaskQueue().GetName()
		}
	}
	return queue
}

// verify computes everything that is recorded again.
func (c *topology) verify(run string) {
	c.t.Helper()
	key, err := hex.DecodeString(fingerprintKey)
	require.NoError(c.t, err)
	secrets := c.t.TempDir()
	require.NoError(c.t, os.WriteFile(filepath.Join(secrets, "goods_dsn"), []byte(c.goods.DSN()), 0o600))
	planner := worker.Planner{
		Allow: []string{c.folder}, AllowNetworks: worker.Networks{netip.MustParsePrefix("127.0.0.0/8")}, FingerprintKey: key, Confined: true,
		SecretsDir: secrets,
	}
	report, err := audit.New(c.log.Reader, c.payloads, planner).Verify(c.t.Context(), run)
	require.NoError(c.t, err)
	require.Empty(c.t, report.Problems)
}

// TestARunSurvivesItsServices lets everything fail once that a run needs, and compares what it leaves with an undisturbed one.
func TestARunSurvivesItsServices(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.deploy(*rows)
	workers := []*process{c.worker("one"), c.worker("two")}

	began := time.Now()
	calm := c.begin("calm")
	calmRun := c.end(calm)
	t.Logf("undisturbed: %d rows in %s", *rows, time.Since(began))
	want := c.result(calmRun.Run, "calm")
	want.check(c, *rows)

	began = time.Now()
	rough := c.begin("rough")
	run := rough.GetID()[len("run-"):]
	c.reached(run, *rows/5)
	for i, w := range workers {
		if w.reads(c.home(rough)) {
			w.kill()
			t.Logf("killed worker %s, which reads", w.name)
			workers[i] = c.worker("three")
			break
		}
	}
	c.reached(run, *rows*2/5)
	c.postgres.Restart(t, true)
	t.Log("restarted Postgres")
	c.reached(run, *rows*3/5)
	c.temporal.kill()
	c.startTemporal()
	t.Log("killed the Temporal server and started it again")
	c.reached(run, *rows*4/5)
	c.bucket.Stop()
	c.bucket.Start(t)
	t.Log("killed the S3 server and started it again")

	roughRun := c.end(rough)
	t.Logf("disturbed: %s", time.Since(began))
	require.Equal(t, calmRun.Rows, roughRun.Rows)
	require.Equal(t, want, c.result(roughRun.Run, "rough"))
	c.verify(roughRun.Run)
	for _, w := range workers {
		w.stop()
	}
}
