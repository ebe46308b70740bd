package workers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/temporal/embedded"
	"waymark/tests/sample"
)

// serverProcess starts a server in a process of its own, and returns when it answers.
func serverProcess(t *testing.T, name, database string, port int) *process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.Command(self)
	command.Env = append(os.Environ(), serverVariable+"="+database, portVariable+"="+strconv.Itoa(port))
	p := launch(t, name, command)
	await(t, "the server", func() bool {
		require.False(t, p.over(), "%s", p.said())
		holder, held, err := embedded.Holder(database)
		require.NoError(t, err)
		return held && holder.PID == p.command.Process.Pid && holder.Address != ""
	})
	return p
}

// TestKilledServer kills the Temporal server, in a process of its own, while a worker is at a moment, and starts it again. Worker
// and run go on by themselves.
func TestKilledServer(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	u := observe(t, startTemporal(t))
	for _, name := range []string{"landscape.chunks.committed", "activity.Write.end", "activity.FinishRun.end"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, port := filepath.Join(t.TempDir(), "temporal.db"), freePort(t)
			first := serverProcess(t, "first", database, port)
			s := newScene(t, &temporal{address: fmt.Sprintf("127.0.0.1:%d", port)})
			decider := s.decider()
			worker := s.worker("worker", name+"=stop", 3)
			s.begin()
			await(t, "the moment "+name, func() bool { return worker.stopped() })
			first.kill()
			worker.signal(syscall.SIGCONT)
			serverProcess(t, "second", database, port)
			s.finish()
			worker.end()
			decider.end()
			require.Equal(t, u.outputs, s.outputs())
			s.verify()
		})
	}
}
