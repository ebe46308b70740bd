package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// serve begins to serve the folder of the program, with a plan.
func (p *program) serve(t *testing.T, plan string) *exec.Cmd {
	t.Helper()
	return p.startAt(t, plan, "serve", ".", "--port", "0", "--http", "off", "--api", "off", "--pages", "off")
}

// temporal connects to the Temporal of the process that serves the folder, or is about to.
func (p *program) temporal(t *testing.T) client.Client {
	t.Helper()
	var address string
	require.Eventually(t, func() bool {
		signed, _ := os.ReadFile(filepath.Join(p.folder, ".waymark/temporal.db.lock"))
		_, rest, _ := strings.Cut(string(signed), "\n") // below the id of the process
		line, _, whole := strings.Cut(rest, "\n")
		address = line
		return whole
	}, patience, 10*time.Millisecond)
	c, err := client.DialContext(t.Context(), client.Options{HostPort: address})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// drain ends a process that serves, as its operator does. It returns the log of moments of all that served the folder.
func (p *program) drain(t *testing.T, serving *exec.Cmd) []byte {
	t.Helper()
	require.NoError(t, serving.Process.Signal(syscall.SIGTERM))
	require.NoError(t, serving.Wait())
	moments, err := os.ReadFile(heldLog(p.folder))
	require.NoError(t, err)
	return moments
}

// died waits until a process that serves was killed at the moment.
func died(t *testing.T, serving *exec.Cmd, moment string) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- serving.Wait() }()
	select {
	case err := <-ended:
		require.ErrorContains(t, err, "killed", moment)
	case <-time.After(patience):
		require.Fail(t, "nothing came to it", moment)
	}
}
