package workers_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/client"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/system"
	"waymark/workflows"
)

var rows = flag.Int("rows", 60_000, "rows of the input")

// fewRows are the rows of a run that nothing disturbs.
const fewRows = 2_000

// begin starts a run of the deployed document, by its name.
func (c *topology) begin(out string) *client.Execution {
	c.t.Helper()
	return system.Begin(c.t, c.home.Client, client.StartRequest{Pipeline: "orders", Params: map[string]string{"out": out}})
}

// end waits until a run has ended, whatever happens to the server meanwhile.
func (c *topology) end(run *client.Execution) workflows.RunResult {
	c.t.Helper()
	result, err := system.End(c.t, run)
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

// reader returns the queue of the process that read last.
func (c *topology) reader(run *client.Execution) (queue string) {
	c.t.Helper()
	for _, event := range system.Events(c.t, c.temporal, run.Workflow, "") {
		if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled.GetActivityType().GetName() == "Read" {
			queue = scheduled.GetTaskQueue().GetName()
		}
	}
	return queue
}

// verify computes everything that is recorded again.
func (c *topology) verify(run string) {
	c.t.Helper()
	report, err := c.home.Verify(c.t.Context(), run, audit.VerifyOptions{})
	require.NoError(c.t, err)
	require.Empty(c.t, report.Problems)
}

// TestTwoWorkersDoARun runs a document on two of the workers that people have, and looks whether every row is where it
// belongs.
func TestTwoWorkersDoARun(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.build = buildReleased
	c.deploy(fewRows)
	workers := []*process{c.worker("one"), c.worker("two")}
	run := c.end(c.begin("few"))
	c.result(run.Run, "few").check(c, fewRows)
	c.verify(run.Run)
	for _, w := range workers {
		w.end()
	}
}

// TestARunSurvivesItsServices lets everything fail once that a run needs, and compares what it leaves with an undisturbed one.
func TestARunSurvivesItsServices(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	c := startCluster(t)
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
	run := rough.Run
	c.reached(run, *rows/5)
	for i, w := range workers {
		if w.reads(c.reader(rough)) {
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
	c.server.kill()
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
		w.end()
	}
}
