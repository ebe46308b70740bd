package crash

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"waymark/tests/sample"
	"waymark/workflows"
)

// Whatever a server was about to do for starts that wait for a place when it was killed: each becomes one complete run, one after the other, and
// nobody waits in the end.
func TestServeIsKilledAtMomentsOfStartsThatWait(t *testing.T) {
	binary := build(t)
	for _, moment := range sample.Of(5, []string{
		"landscape.starts.committing", "landscape.starts.committed@2", // they are accepted
		"activity.OpenRun.begin@2", "landscape.gates.committing", "landscape.gates.committed@2", "activity.OpenRun.end@3", // they wait
		"landscape.runs.committing", "landscape.runs.committed", // the first begins
		"landscape.runs.committing@2", "landscape.runs.committed@2", "activity.FinishRun.end", // it ends, and tells the next
		"activity.OpenRun.begin@6", "landscape.runs.committing@3", "landscape.runs.committed@3", // that is let in
	}) {
		t.Run(moment, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			startsWait(t, binary, moment)
		})
	}
}

// line is what runs that want the same place are asked for in: the ids of the workflows, and their inputs. Two of them mean the same run.
var line = map[string]map[string]string{
	"run-a": {"run": "a"}, "run-b": {"run": "b"}, "run-c": {"run": "c"}, "a service": {"key": "order-17"}, "the service again": {"key": "order-17"},
}

// lived is what the record has of the starts when nobody waits any more: those that are open; those of which no run came, and nobody knows why; begun ones
// without a complete run; runs that are there although nobody asked; and pairs of runs that had the one place at once.
const lived = `
select
	(select count(*) from starts where decided_us is null),
	(select count(*) from starts where state <> 'begun' and decided_us is not null and reason = ''),
	(select count(*) from starts s where state = 'begun' and not exists (select 1 from runs r where r.run_id = s.run_id and r.status = 'completed_with_failures')),
	(select count(*) from runs r where not exists (select 1 from starts s where s.run_id = r.run_id and s.state = 'begun')),
	(select count(*) from runs a join runs b on a.run_id < b.run_id where a.started_us < b.finished_us and b.started_us < a.finished_us)`

// startsWait serves a pipeline of which there is one run at once, and asks for several; but kills the server at the moment, and serves again.
func startsWait(t *testing.T, binary, moment string) {
	t.Helper()
	p := in(t, binary, "orders.csv")
	p.write(t, "narrow.yaml", "name: narrow\nchunk: {rows: 20}\n"+
		"sources: {orders: {csv: {path: orders.csv}, schema: {fields: {id: int, customer: string, country: \"string?\", total: decimal, placed: date}}}}\n"+
		"sinks: {out: {csv: {path: out/narrow.csv, overwrite: true}}}\n"+
		"concurrency: {runs: 1}\npools: {db: 1}\n")
	p.run(t, 0, "limit", "set", "db", "1", "--why", "to see")

	killed := p.serve(t, moment+"=kill")
	served, gone := context.WithCancel(t.Context())
	temporal, asked := p.temporal(t), make(chan error, 1)
	go func() { asked <- askAll(served, temporal) }()
	died(t, killed, moment)
	gone()
	<-asked // some were too late

	serving := p.serve(t, "")
	require.NoError(t, askAll(t.Context(), p.temporal(t)))
	db := open(t, p.folder)
	require.Eventually(t, func() bool {
		var complete, open int
		err := db.QueryRow("select (select count(*) from runs where status = 'completed_with_failures'), (select count(*) from starts where decided_us is null)").Scan(&complete, &open)
		return err == nil && complete == len(line)-1 && open == 0
	}, time.Minute, 100*time.Millisecond, "somebody waits in vain")
	p.drain(t, serving)
	var open, unexplained, unfinished, unasked, together int
	require.NoError(t, db.QueryRow(lived).Scan(&open, &unexplained, &unfinished, &unasked, &together))
	require.Equal(t, [5]int{}, [5]int{open, unexplained, unfinished, unasked, together})
}

// askAll asks for all runs of the line at once, unless somebody did so before.
func askAll(ctx context.Context, temporal client.Client) error {
	var asking errgroup.Group
	for id, input := range line {
		asking.Go(func() error {
			request := map[string]string{"pipeline": "narrow"}
			maps.Copy(request, input)
			_, err := temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
				ID: id, TaskQueue: workflows.TaskQueue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			}, workflows.RunPipelineName, request)
			return err
		})
	}
	return asking.Wait()
}
