package cluster_test

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkRun measures whole runs of a million rows, or as many as -rows says: from an object in a bucket to parts in a bucket and
// a table, with the record in Postgres and the payloads in S3, all on this machine, by one worker process and by two.
func BenchmarkRun(b *testing.B) {
	c := start(b)
	c.deploy(*rows)
	for workers := 1; workers <= 2; workers++ {
		c.worker(fmt.Sprint("worker-", workers))
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			began := time.Now()
			for i := range b.N {
				c.end(c.begin(fmt.Sprintf("bench_%d_%d_%d", workers, b.N, i)))
			}
			b.ReportMetric(float64(*rows)*float64(b.N)/time.Since(began).Seconds(), "rows/s")
		})
	}
}
