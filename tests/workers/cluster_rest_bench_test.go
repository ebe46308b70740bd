package workers_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
)

// BenchmarkAtRest counts the statements that four workers send while nothing is due of deployed pipelines with a
// schedule, half of them with a trigger as well. One turn of it is a second; -v lists the statements.
func BenchmarkAtRest(b *testing.B) {
	const deployed = 40 // as many statements as for thousands: see TestSchedulesAtRestGetNoTurn
	c := startCluster(b, "shared_preload_libraries=pg_stat_statements")
	c.build = buildReleased
	counted := count(c)
	var workers []*process
	for i := range 4 {
		workers = append(workers, c.worker(fmt.Sprint("worker-", i+1)))
	}
	for i := range deployed {
		name := fmt.Sprintf("rest%03d", i)
		document := fmt.Sprintf(`name: %[1]s
params: {slot: {type: string, default: "${slot:label}"}}
sources: {in: {csv: {path: "%[2]s/%[1]s-*.csv"}, schema: {fields: {id: int}}}}
sinks: {out: {csv: {path: "%[2]s/out/%[1]s/${param:slot}.csv"}}}
schedules: {beat: {every: year}}
`, name, c.folder)
		if i%2 == 0 {
			document += "triggers: {drop: {source: in, run_id: slot}}\n"
		}
		request := client.DeployRequest{File: filepath.Join(c.folder, name+".yaml"), Source: []byte(document), Anyway: "a measurement"}
		_, err := c.home.Deploy(b.Context(), request)
		require.NoError(b, err)
	}
	require.Eventually(b, func() bool {
		watches, err := c.log.Watches(b.Context())
		looked := func(w landscape.Watch) bool { return w.Looked != 0 }
		n := 0
		for _, w := range watches {
			if looked(w) {
				n++
			}
		}
		return err == nil && n == deployed/2
	}, patience, time.Second, "somebody looks after each trigger")
	time.Sleep(20 * time.Second) // what was deployed is followed up
	counted.reset()
	before := cpu(workers)
	b.ResetTimer()
	time.Sleep(time.Duration(b.N) * time.Second)
	b.StopTimer()
	b.ReportMetric(100*(cpu(workers)-before).Seconds()/float64(b.N), "%core/workers")
	counted.report(b)
	for _, w := range workers {
		require.NotContains(b, strings.ToLower(w.said()), "level=error")
	}
}
