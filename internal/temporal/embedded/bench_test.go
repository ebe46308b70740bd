package embedded

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// BenchmarkActivity measures what one activity of a workflow takes, alone and with others in flight.
func BenchmarkActivity(b *testing.B) {
	for _, width := range []int{1, 8} {
		b.Run(fmt.Sprintf("in flight %d", width), func(b *testing.B) {
			s := startServer(b, Options{DatabasePath: filepath.Join(b.TempDir(), "temporal.db")})
			b.Cleanup(func() { stopServer(b, s) })
			c := startWorker(b, s)
			runMany(b, c, "warm", 8, 8)
			b.ResetTimer()
			before := cpuTime(b)
			runMany(b, c, "measured", b.N, width)
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// BenchmarkIdle measures what a server costs that nobody talks to, in CPU time for a second.
func BenchmarkIdle(b *testing.B) {
	s := startServer(b, Options{DatabasePath: filepath.Join(b.TempDir(), "temporal.db")})
	b.Cleanup(func() { stopServer(b, s) })
	startWorker(b, s)
	for b.Loop() {
		before := cpuTime(b)
		time.Sleep(time.Second)
		b.ReportMetric(float64((cpuTime(b) - before).Microseconds()), "cpu-µs/s")
	}
}

// BenchmarkRestart measures a start with a database that is there, and a stop.
func BenchmarkRestart(b *testing.B) {
	path := filepath.Join(b.TempDir(), "temporal.db")
	stopServer(b, startServer(b, Options{DatabasePath: path}))
	for b.Loop() {
		s, err := Start(b.Context(), Options{DatabasePath: path})
		require.NoError(b, err)
		require.NoError(b, s.Stop())
	}
}

func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// runMany runs the workflow many and returns its sum.
func runMany(t testing.TB, c client.Client, id string, n, width int) int {
	t.Helper()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: queue}, many, n, width)
	require.NoError(t, err)
	var sum int
	require.NoError(t, run.Get(t.Context(), &sum))
	return sum
}
