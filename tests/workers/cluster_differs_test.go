package workers_test

import (
	"cmp"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/client"
	"waymark/landscape"
	"waymark/landscape/pgstore"
	"waymark/tests/sample"
	"waymark/workflows"
)

// differing starts a worker process whose environment differs in a variable.
func (c *topology) differing(name, variable, value string) *process {
	c.t.Helper()
	environment := c.environment()
	maps.Copy(environment, c.goodsEnvironment())
	environment[variable] = value
	w := c.launch(name, environment, c.program(c.build))
	w.await("msg=working")
	return w
}

// otherLandscape makes a second landscape in the database, and returns its URL for workers.
func (c *topology) otherLandscape() string {
	c.t.Helper()
	owner := c.record.DSN() + "&schema=other"
	_, _, err := pgstore.Migrate(c.t.Context(), owner)
	require.NoError(c.t, err)
	require.NoError(c.t, pgstore.Grant(c.t.Context(), owner, pgstore.Roles{Writer: "waymark_writer", Reader: "waymark_reader"}))
	return c.environment()["WAYMARK_LANDSCAPE"] + "?schema=other"
}

// doctor returns what the doctor says of the workers.
func (c *topology) doctor() (said string) {
	c.t.Helper()
	for _, check := range c.home.Doctor(c.t.Context()) {
		if check.Name == "workers" {
			said = check.Detail
		}
	}
	return said
}

// TestAWorkerWithAnotherLandscapeHarmsNobody: whoever begins a run, and whoever is there when it goes on, it is recorded in one landscape alone, from its beginning
// to its end.
func TestAWorkerWithAnotherLandscapeHarmsNobody(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	c := startCluster(t)
	c.deploy(*rows)
	other := c.otherLandscape()
	log, err := pgstore.Open(t.Context(), c.record.DSN()+"&schema=other")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	others := landscape.NewReader(log)
	const says = "and this worker has the landscape "

	// A run of this landscape comes to a worker of the other one first.
	odd := c.differing("odd", "WAYMARK_LANDSCAPE", other)
	asked := c.begin("asked")
	odd.await(says)
	right := c.worker("right")
	require.Contains(t, c.doctor(), "2 workers on the queue; they have several landscapes")
	require.Equal(t, asked.Run, c.end(asked).Run)

	// Its worker is killed, and only the odd one is there for a while.
	killed := c.begin("killed")
	c.reached(killed.Run, *rows/10)
	right.kill()
	time.Sleep(2 * clusterHeartbeat)
	right = c.worker("again")
	require.Equal(t, killed.Run, c.end(killed).Run)
	for run, out := range map[string]string{asked.Run: "asked", killed.Run: "killed"} {
		c.result(run, out).check(c, *rows)
		c.verify(run)
	}
	count, err := others.CountRuns(t.Context())
	require.NoError(t, err)
	require.Zero(t, count)

	// Nobody says to which landscape a start belongs: to that of the worker that begins it.
	right.end()
	in := workflows.RunInput{OpenInput: activities.OpenInput{Run: "foreign", Pipeline: "orders", Params: activities.Params{"out": "foreign"}}}
	run, err := c.temporal.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{ID: "run-foreign", TaskQueue: workflows.TaskQueue}, workflows.RunPipelineName, in)
	require.NoError(t, err)
	await(t, "the run in the other landscape", func() bool {
		progress, err := others.Progress(t.Context(), "foreign")
		return err == nil && progress.Rows >= int64(*rows/10)
	})
	odd.kill()
	right = c.worker("third")
	right.await(says)
	odd = c.differing("odd again", "WAYMARK_LANDSCAPE", other)
	var result workflows.RunResult
	require.NoError(t, run.Get(t.Context(), &result))
	require.EqualValues(t, *rows, result.Rows)
	_, err = c.log.Run(t.Context(), "foreign")
	require.ErrorIs(t, err, landscape.ErrNotFound)
	right.end()
	odd.end()
}

// TestAWorkerWithOtherValuesIsNamed: a run that it begins says in which values it differs from the last one, and what others began it leaves to them.
func TestAWorkerWithOtherValuesIsNamed(t *testing.T) {
	sample.Rarely(t)
	t.Setenv("REGION", "east")
	for variable, differs := range map[string]struct {
		value, shown string // "" is a value of the topology, spelled otherwise
		doctor       bool   // it compares what workers say of themselves, and no secrets
	}{
		"REGION":                   {"west", "${REGION}", true},
		"WAYMARK_FINGERPRINT_KEY":  {strings.Repeat("f0", 32), "${REGION}", true},
		"WAYMARK_SECRET_GOODS_DSN": {"", "${secret:goods_dsn}", false},
	} {
		t.Run(variable, func(t *testing.T) {
			c := startCluster(t)
			c.put("in/orders.csv", input(*rows))
			c.document(strings.Replace(clusterOrders, "/out/", "/${REGION}/", 1))
			_, err := c.home.Deploy(t.Context(), client.DeployRequest{File: filepath.Join(c.folder, "orders.yaml"), Params: map[string]string{"out": "any"}})
			require.NoError(t, err)
			values := func(run string) string {
				status, err := c.home.Status(t.Context(), run)
				require.NoError(t, err)
				return status.OtherValues
			}
			right := c.differing("right", "REGION", "east")
			require.Empty(t, values(c.end(c.begin("first")).Run))
			going := c.begin("going")
			c.reached(going.Run, *rows/10)
			odd := c.differing("odd", variable, cmp.Or(differs.value, c.goods.DSN()+"&application_name=odd"))
			if differs.doctor {
				require.Contains(t, c.doctor(), "2 workers on the queue; they have several values of the variables of --allow-env, of the fingerprint key or of --environment")
			}
			right.kill()
			odd.await("others may")
			right = c.differing("again", "REGION", "east")
			require.Empty(t, values(c.end(going).Run))
			right.end()
			require.Contains(t, values(c.end(c.begin("odd")).Run), differs.shown)
			odd.end()
		})
	}
}
