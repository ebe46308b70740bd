package workers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/system"
)

// contained is how a program is started that has a view of the file system of its own, as a container has.
var contained = []string{"unshare", "--user", "--map-root-user", "--mount"}

// container starts a worker that sees the deployed pipelines as the service of docker-compose.yml does: the folder out of each is the volume
// that is mounted there, and without one a folder that no other worker sees.
func (c *topology) container(service, volumes string) {
	c.t.Helper()
	own, mounts := c.t.TempDir(), []string{"set -eu"}
	outputs, err := filepath.Glob(filepath.Join(c.folder, "*", "out"))
	require.NoError(c.t, err)
	for _, output := range outputs {
		from := filepath.Join(own, filepath.Base(filepath.Dir(output)))
		for _, mount := range c.composed().Services[service].Volumes {
			volume, at, _ := strings.Cut(mount, ":")
			if strings.Replace(at, "/pipelines", c.folder, 1) == output {
				from = filepath.Join(volumes, volume)
			}
		}
		require.NoError(c.t, os.MkdirAll(from, 0o700))
		mounts = append(mounts, "mount --bind '"+from+"' '"+output+"'")
	}
	mounts = append(mounts, "exec '"+c.program(c.build)+"'")
	args := append(contained[1:], "sh", "-c", strings.Join(mounts, "\n"))
	w := c.launch(service, c.environment(), contained[0], args...)
	w.await("msg=working")
}

// TestTheExamplesRunOnBothWorkersOfCompose runs each example several times on two workers that share nothing but the volumes.
func TestTheExamplesRunOnBothWorkersOfCompose(t *testing.T) {
	sample.Rarely(t)
	if out, err := exec.Command(contained[0], append(contained[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("this machine gives no view of its files to a process alone: %v %s", err, out)
	}
	t.Parallel()
	c := startCluster(t)
	require.NoError(t, os.CopyFS(c.folder, os.DirFS("../../examples")))
	want := map[string]string{"bird-strikes": "review.csv", "orders": "ledger.csv", "sensor": "alps/readings/manifest.json"}
	for name := range want {
		require.NoError(t, os.RemoveAll(filepath.Join(c.folder, name, "out")))
		require.NoError(t, os.Mkdir(filepath.Join(c.folder, name, "out"), 0o700))
	}
	volumes := t.TempDir()
	c.container("worker-1", volumes)
	c.container("worker-2", volumes)
	for name, output := range want {
		for range 3 {
			result, err := system.End(t, system.Begin(t, c.home.Client, client.StartRequest{Pipeline: name}))
			require.NoError(t, err, name)
			require.Contains(t, []pipeline.RunStatus{pipeline.Completed, pipeline.CompletedWithFailures}, result.Status, name)
		}
		found, err := filepath.Glob(filepath.Join(volumes, "*", output))
		require.NoError(t, err)
		require.Len(t, found, 1, name)
	}
}
