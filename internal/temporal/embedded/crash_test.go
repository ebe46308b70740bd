package embedded

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// TestKilledServer: a process that is killed while workflows run leaves them to the next, which finishes them.
func TestKilledServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	killChild(t, path)
	s := startServer(t, Options{DatabasePath: path})
	t.Cleanup(func() { stopServer(t, s) })
	c := startWorker(t, s)
	var sum int
	require.NoError(t, c.GetWorkflow(t.Context(), "long", "").Get(t.Context(), &sum))
	require.Equal(t, longSum, sum)
}

// TestKilledStart: a process that is killed at any instant of its first start leaves a database that the next can use.
func TestKilledStart(t *testing.T) {
	for range 6 {
		path := filepath.Join(t.TempDir(), "temporal.db")
		child := startChild(t, path)
		time.Sleep(rand.N(200 * time.Millisecond))
		kill(t, child)
		s := startServer(t, Options{DatabasePath: path})
		dial(t, s)
		stopServer(t, s)
	}
}

// killChild runs TestKilledChild in a process of its own until its workflow has come some way, and kills it.
func killChild(t *testing.T, path string) {
	t.Helper()
	child := startChild(t, path)
	require.Eventually(t, func() bool {
		_, err := os.Stat(path + ".running")
		return err == nil
	}, time.Minute, time.Millisecond)
	kill(t, child)
}

func startChild(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
	child.Env = append(os.Environ(), "EMBEDDED_PATH="+path)
	child.Stderr = os.Stderr
	require.NoError(t, child.Start())
	return child
}

func kill(t *testing.T, child *exec.Cmd) {
	t.Helper()
	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
}

const (
	longActivities = 100
	killedAfter    = 20 // activities
	longSum        = longActivities * (longActivities - 1) / 2
)

// TestKilledChild runs a server with a worker and a long workflow, as the process that other tests kill.
func TestKilledChild(t *testing.T) {
	path := os.Getenv("EMBEDDED_PATH")
	if path == "" {
		t.Skip("is run by TestKilledServer and TestKilledStart")
	}
	c := startWorkerOf(t, startServer(t, Options{DatabasePath: path}), func(ctx context.Context, n int) (int, error) {
		if n == killedAfter {
			if err := os.WriteFile(path+".running", nil, 0o644); err != nil {
				return 0, err
			}
		}
		return echo(ctx, n)
	})
	// The next server waits so long for the task that dies with this one.
	options := client.StartWorkflowOptions{ID: "long", TaskQueue: queue, WorkflowTaskTimeout: 2 * time.Second}
	_, err := c.ExecuteWorkflow(t.Context(), options, many, longActivities, 2)
	require.NoError(t, err)
	select {}
}
