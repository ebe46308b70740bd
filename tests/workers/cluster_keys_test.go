package workers_test

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
)

// odd starts a worker process with other codec keys than all others have; "" are none.
func (c *topology) odd(name, keys string) *process {
	c.t.Helper()
	environment := c.environment()
	maps.Copy(environment, c.goodsEnvironment())
	environment["WAYMARK_CODEC_KEYS"] = keys
	return c.launch(name, environment, c.program(c.build))
}

// refused requires that the process ends with code 1, and says why.
func (p *process) refused(why string) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		require.Fail(p.t, "the process does not end", "%s: %s", p.name, p.said())
	}
	require.Equal(p.t, 1, p.command.ProcessState.ExitCode(), p.said())
	require.Contains(p.t, p.said(), why)
	require.Contains(p.t, p.said(), "all workers of a queue need the same keys")
}

// TestAWorkerWithoutTheKeysHarmsNobody lets workers without the right keys come before a run and in the middle of it, while the worker
// that holds the run is killed.
func TestAWorkerWithoutTheKeysHarmsNobody(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	other := "two:" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("o", 32)))
	c := startCluster(t)
	c.deploy(*rows)
	early := c.odd("early", other)
	early.await("msg=working") // nothing tells it yet that it is wrong
	running := c.begin("out")
	early.await("cannot read a run")
	await(t, "a run that is stuck", func() bool { return slices.Contains(c.home.Stuck(t.Context()), running.Workflow) })
	good := c.worker("good")
	run := running.Run
	c.reached(run, *rows/10)
	late, keyless := c.odd("late", other), c.odd("keyless", "")
	late.refused(`encrypted with key \"one\", which this program does not have`)
	keyless.refused(`encrypted with key \"one\", and this program has no codec keys`)
	progress, err := c.log.Progress(t.Context(), run)
	require.NoError(t, err)
	t.Logf("%d of %d rows are read when the worker is killed", progress.Rows, *rows)
	good.kill()
	early.refused(`encrypted with key \"one\"`)
	again := c.worker("again")
	result := c.end(running)
	require.Equal(t, run, result.Run)
	c.result(run, "out").check(c, *rows)
	c.verify(run)
	again.end()
}
