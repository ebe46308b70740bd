package cluster_test

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkRun measures whole runs of a million rows, or as many as -rows says: from an object in a bucket to parts in a bucket and
// a table, with the record in Postgres and the payloads in S3, all on this machine, by one worker process and by two. The two take
// turns, so that whatever else the machine does bears on both. CPU seconds are those of the worker processes.
func BenchmarkRun(b *testing.B) {
	c := start(b)
	c.build = buildReleased
	c.deploy(*rows)
	first := c.worker("worker-1")
	var took, worked [2]time.Duration
	measure := func(out string, workers ...*process) {
		before, began := cpu(workers), time.Now()
		c.end(c.begin(out))
		took[len(workers)-1] += time.Since(began)
		worked[len(workers)-1] += cpu(workers) - before
	}
	round := 0
	for b.Loop() {
		round++
		measure(fmt.Sprintf("one_%d", round), first)
		second := c.worker(fmt.Sprintf("worker-2 of round %d", round))
		measure(fmt.Sprintf("two_%d", round), first, second)
		second.stop()
	}
	for i, unit := range []string{"1worker", "2workers"} {
		b.ReportMetric(float64(*rows)*float64(round)/took[i].Seconds(), "rows/s/"+unit)
		b.ReportMetric(worked[i].Seconds()/float64(round), "cpu-s/"+unit)
	}
}

func cpu(workers []*process) (sum time.Duration) {
	for _, w := range workers {
		sum += w.cpu()
	}
	return sum
}
