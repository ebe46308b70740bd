package serve_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"waymark/internal/temporal/embedded"
	"waymark/landscape"
	"waymark/landscape/admit"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
	"waymark/tests/fixtures"
	"waymark/tests/sample"
	"waymark/tests/serving"
	"waymark/workflows"
)

// pooled is a document whose runs hold places of pools.
const pooled = `
name: NAME
params: {id: {type: string}}
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, kind: string}}}}
sinks: {out: {csv: {path: "out/${param:id}.csv"}}}
concurrency: {runs: 3}
pools: POOLS
`

// crowd is many starts of several pipelines beside each other, on a server that dies.
type crowd struct {
	*testing.T
	folder    string
	serving   *serving.Server
	temporal  sdk.Client
	pipelines []string
	chance    *rand.Rand
}

// crowdStarts are how many runs a crowd asks for; make nightly asks for 200.
var crowdStarts = flag.Int("starts", 20, "how many runs TestACrowdWaitsForPlaces asks for")

const crowdTerminated = 5 // each time

// TestACrowdWaitsForPlaces asks for many runs over three pools, gives the pools more places while they wait, terminates runs that run and
// that wait, and kills the server. No pool and no pipeline ever has more runs than it may have, and in the end nobody waits.
func TestACrowdWaitsForPlaces(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	c := newCrowd(t)
	c.serve()
	c.limit("db", 1)
	c.limit("llm", 2)
	for i := range 4 {
		c.ask(i*(*crowdStarts)/4, (i+1)*(*crowdStarts)/4)
		switch i {
		case 0:
			c.limit("net", 1) // until then it has no place
			c.terminate()
		case 1:
			c.kill()
			c.limit("db", 3)
		case 2:
			c.terminate()
			c.kill()
			c.limit("llm", 4)
		}
	}
	c.limit("net", 3)
	c.settle()
	c.check()
}

func newCrowd(t *testing.T) *crowd {
	c := &crowd{T: t, folder: t.TempDir(), chance: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // no secret
	require.NoError(t, os.WriteFile(filepath.Join(c.folder, "in.csv"), []byte(fixtures.Numbered(0, 50)), 0o600))
	for i, pools := range []string{"{db: 1}", "{llm: 1}", "{net: 1}", "{db: 1, llm: 2}", "{llm: 1, net: 1}", "{db: 1, llm: 1, net: 1}"} {
		name := fmt.Sprint("p", i)
		document := strings.NewReplacer("NAME", name, "POOLS", pools).Replace(pooled)
		require.NoError(t, os.WriteFile(filepath.Join(c.folder, name+".yaml"), []byte(document), 0o600))
		c.pipelines = append(c.pipelines, name)
	}
	return c
}

func (c *crowd) serve() {
	c.serving = serving.Start(c.T, c.folder)
	c.temporal = c.serving.Temporal(c.T)
}

func (c *crowd) kill() {
	require.NoError(c, c.serving.Command.Process.Kill())
	_ = c.serving.Command.Wait()
	c.serve()
}

func (c *crowd) limit(pool string, places int) {
	c.serving.Waymark(c.T, "limit", "set", "pool:"+pool, fmt.Sprint(places), "--why", "to see")
}

// ask starts the runs with these numbers, several at once.
func (c *crowd) ask(from, to int) {
	var starting errgroup.Group
	starting.SetLimit(8)
	for i := from; i < to; i++ {
		starting.Go(func() error {
			run := fmt.Sprintf("r%03d", i)
			_, err := c.temporal.ExecuteWorkflow(context.WithoutCancel(c.Context()), sdk.StartWorkflowOptions{
				ID: workflows.WorkflowID(run), TaskQueue: workflows.TaskQueue,
			}, workflows.RunPipelineName, map[string]any{"pipeline": c.pipelines[i%len(c.pipelines)], "run": run, "params": map[string]string{"id": run}})
			return err
		})
	}
	require.NoError(c, starting.Wait())
}

// terminate ends workflows that are open, whether their runs wait or run.
func (c *crowd) terminate() {
	answer, err := c.temporal.ListWorkflow(c.Context(), &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: embedded.Namespace, Query: "ExecutionStatus = 'Running' and WorkflowType = '" + workflows.RunPipelineName + "'",
	})
	require.NoError(c, err)
	open := answer.GetExecutions()
	c.chance.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	for _, execution := range open[:min(crowdTerminated, len(open))] {
		_ = c.temporal.TerminateWorkflow(c.Context(), execution.GetExecution().GetWorkflowId(), "", "to see") // it may just have ended
	}
}

// settle waits until no workflow is open and nobody waits.
func (c *crowd) settle() {
	require.Eventually(c, func() bool {
		answer, err := c.temporal.CountWorkflow(c.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "ExecutionStatus = 'Running'"})
		return err == nil && answer.GetCount() == 0
	}, 5*time.Minute, time.Second, "somebody waits in vain")
	require.Eventually(c, func() bool { // a worker looks for terminated ones every 20 seconds
		running := func(run serving.Run) bool { return run.Status == pipeline.Running }
		return len(serving.Listed[struct{}](c.T, c.serving, "queue")) == 0 &&
			!slices.ContainsFunc(serving.Listed[serving.Run](c.T, c.serving, "runs", "--limit", "0"), running)
	}, time.Minute, time.Second)
}

// moment is when a run begins to hold a place of a gate, or lets go of it.
type moment struct {
	at     landscape.Micros
	places int64
}

// check looks at the record: who held what, and when.
func (c *crowd) check() {
	store, err := sqlitestore.Open(c.Context(), filepath.Join(c.folder, ".waymark", "landscape.db"), sqlitestore.Options{})
	require.NoError(c, err)
	defer func() { require.NoError(c, store.Close()) }()
	log := landscape.NewReader(store)
	starts, err := log.Starts(c.Context(), "", nil, 0)
	require.NoError(c, err)
	require.GreaterOrEqual(c, len(starts), *crowdStarts-2*crowdTerminated, "one that was terminated before a worker came has no start")
	limits, err := landscape.Select[landscape.Limit](c.Context(), log)
	require.NoError(c, err)
	held := map[string][]moment{}
	states := map[landscape.StartState]int{}
	for _, start := range starts {
		states[start.State]++
		if start.State != landscape.StartBegun {
			require.Equal(c, []any{landscape.StartRefused, "WorkflowClosed"}, []any{start.State, start.Refusal}, start.Reason)
			continue
		}
		run, err := log.Run(c.Context(), start.Run)
		require.NoError(c, err)
		require.Contains(c, []pipeline.RunStatus{pipeline.Completed, pipeline.Interrupted}, run.Status, run.Reason)
		for _, want := range termsOf(c.T, start).Wants {
			held[want.Gate] = append(held[want.Gate], moment{run.Started, want.Places}, moment{run.Finished, -want.Places})
		}
	}
	for gate, moments := range held {
		slices.SortStableFunc(moments, func(a, b moment) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return int(a.places - b.places) // who ends in the same moment has ended
		})
		var now, peak int64
		for _, m := range moments {
			now += m.places
			peak = max(peak, now)
			require.LessOrEqual(c, now, placesOf(limits, gate, m.at), gate)
		}
		c.Logf("%s: at most %d places were held, by %d runs", gate, peak, len(moments)/2)
	}
	c.Logf("starts: %v", states)
}

// placesOf returns how many places a gate had at a moment: the limits only grow here.
func placesOf(limits []landscape.Limit, gate string, at landscape.Micros) (places int64) {
	if strings.HasPrefix(gate, "pipeline:") {
		return 3
	}
	if strings.HasPrefix(gate, "target:") {
		return 1
	}
	for _, limit := range limits {
		if limit.Gate == gate && limit.At <= at {
			places = limit.Places
		}
	}
	return places
}

func termsOf(t *testing.T, start landscape.Start) (terms admit.Terms) {
	require.NoError(t, json.Unmarshal([]byte(start.Terms), &terms))
	return terms
}
