package processors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheQuotaOfTheContainer(t *testing.T) {
	const (
		first   = "31 30 0:28 / ROOT/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n32 30 0:29 / ROOT/memory rw - cgroup cgroup rw,memory\n"
		second  = "31 30 0:28 / ROOT/all rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		mounted = "31 30 0:28 /docker/5f ROOT/cpu rw - cgroup cgroup rw,cpu\n"
	)
	for name, c := range map[string]struct {
		mounts, groups string
		files          map[string]string
		one            bool
	}{
		"v1, a quarter": {first, "5:cpu,cpuacct:/pod/work\n0::/\n", map[string]string{
			"cpu/pod/work/cpu.cfs_quota_us": "25000\n", "cpu/pod/work/cpu.cfs_period_us": "100000\n",
		}, true},
		"v1, none": {first, "5:cpu,cpuacct:/pod/work\n", map[string]string{
			"cpu/pod/work/cpu.cfs_quota_us": "-1\n", "cpu/pod/work/cpu.cfs_period_us": "100000\n",
		}, false},
		"v1, of the pod": {first, "5:cpu,cpuacct:/pod/work\n", map[string]string{
			"cpu/pod/work/cpu.cfs_quota_us": "-1\n", "cpu/pod/work/cpu.cfs_period_us": "100000\n",
			"cpu/pod/cpu.cfs_quota_us": "50000\n", "cpu/pod/cpu.cfs_period_us": "50000\n",
		}, true},
		"v1, in a container that sees only its own": {mounted, "5:cpu:/docker/5f\n", map[string]string{
			"cpu/cpu.cfs_quota_us": "99999\n", "cpu/cpu.cfs_period_us": "100000\n",
		}, true},
		"v1, of another controller": {first, "6:memory:/pod\n", map[string]string{
			"cpu/pod/cpu.cfs_quota_us": "25000\n", "cpu/pod/cpu.cfs_period_us": "100000\n",
		}, false},
		"v2, half":         {second, "0::/work\n", map[string]string{"all/work/cpu.max": "50000 100000\n"}, true},
		"v2, one and half": {second, "0::/work\n", map[string]string{"all/work/cpu.max": "150000 100000\n"}, false},
		"v2, none":         {second, "0::/work\n", map[string]string{"all/work/cpu.max": "max 100000\n"}, false},
		"v2, elsewhere":    {second, "0::/../../work\n", map[string]string{"all/cpu.max": "10000 100000\n"}, true},
		"no groups":        {"", "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write := func(text string, path ...string) {
				file := filepath.Join(append([]string{root}, path...)...)
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			}
			write(strings.ReplaceAll(c.mounts, "ROOT", root), "proc", "self", "mountinfo")
			write(c.groups, "proc", "self", "cgroup")
			for path, text := range c.files {
				write(text, path)
			}
			require.Equal(t, c.one, atMostOne(filepath.Join(root, "proc")))
		})
	}
}
