package crash

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
)

// TestRotationIsKilled: wherever a rotation of the log's key is killed, the next run finishes it or there was none, nothing of the log is wrong, and what the old key
// vouched for still holds.
func TestRotationIsKilled(t *testing.T) {
	sample.Rarely(t)
	binary := build(t)
	for _, moment := range []struct {
		plan     string
		replaced bool
	}{
		{"landscape.log.begin=kill", false},
		{"landscape.log.committing=kill", false},
		{"log.rotated=kill", true},
		{"landscape.log.committed=kill", true},
		{"log.signed=kill", true},
		{"log.anchored=kill", true},
	} {
		t.Run(moment.plan, func(t *testing.T) {
			t.Parallel()
			p := in(t, binary, "plain.yaml", "orders.csv")
			document, err := os.ReadFile("plain.yaml")
			require.NoError(t, err)
			p.write(t, "two.yaml", strings.Replace(string(document), "out/plain.csv", "out/two.csv", 1))
			p.at("").run(t, 3, "run", "plain.yaml", "--run-id", "one")
			p.write(t, "trust.policy", p.run(t, 0, "keys", "policy"))
			p.at(moment.plan).run(t, -1, "keys", "rotate", "log", "--why", "yearly")
			p.at("").run(t, 0, "log", "check")
			p.run(t, 3, "run", "two.yaml", "--run-id", "two")
			p.run(t, 0, "log", "check")
			p.run(t, 0, "export", "one", "-o", "one.zip")
			p.run(t, 0, "verify", "one.zip", "--policy", "trust.policy")
			left, err := filepath.Glob(filepath.Join(p.folder, ".waymark/keys/log.next.key"))
			require.NoError(t, err)
			require.Equal(t, moment.replaced, left == nil, "a key that the log does not have waits for the next rotation")
			require.Equal(t, moment.replaced, p.logKeys(t) == 2)
			p.run(t, 0, "keys", "rotate", "log", "--why", "again")
			p.run(t, 0, "log", "check")
			require.Equal(t, map[bool]int{true: 3, false: 2}[moment.replaced], p.logKeys(t))
		})
	}
}

// logKeys counts the keys that the log has had.
func (p *program) logKeys(t *testing.T) int {
	t.Helper()
	return strings.Count(p.run(t, 0, "keys", "--json"), `"kind":"log"`)
}
