package crash

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/crash/lab"
	"waymark/tests/sample"
)

// TestABlockedWriteWaitsForAPerson kills a run after a part was written, and lets the target say that it cannot tell whether it
// was. Whatever a person then says of it, the run ends as if nothing had happened: what was written is in its place.
func TestABlockedWriteWaitsForAPerson(t *testing.T) {
	sample.Rarely(t)
	p := in(t, build(t), "plain.yaml", "orders.csv")
	document, err := os.ReadFile("plain.yaml")
	require.NoError(t, err)
	p.write(t, "plain.yaml", strings.Replace(string(document), "chunk: {rows: 12}", "chunk: {rows: 100}", 1)) // one part: that one was written
	p.run(t, 3, "run", "plain.yaml", "--run-id", lab.RunID)
	undisturbed := filepath.Join(t.TempDir(), "undisturbed")
	require.NoError(t, os.CopyFS(undisturbed, os.DirFS(p.folder)))

	for _, said := range []string{"--applied", "--not-applied"} {
		t.Run(said, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(filepath.Join(p.folder, "out")))
			require.NoError(t, os.RemoveAll(filepath.Join(p.folder, ".waymark")))
			p.at("sink.part.synced=kill").run(t, -1, "run", "plain.yaml", "--run-id", lab.RunID)
			out := p.at("sink.part.check=unknown").run(t, 1, "resume", lab.RunID)
			require.Contains(t, out, "waymark effects")
			p.at("")
			require.Contains(t, p.run(t, 2, "resume", lab.RunID), "blocked")
			effect := blocked(t, p, lab.RunID)
			p.run(t, 0, "resolve", lab.RunID, effect, said, "--why", "I looked")
			p.run(t, 3, "resume", lab.RunID)
			findings, err := lab.Audit(t.Context(), undisturbed, p.folder)
			require.NoError(t, err)
			require.Empty(t, findings)
			p.run(t, 0, "verify", lab.RunID)
		})
	}
}

// blocked returns the id of the one effect of a run that is blocked.
func blocked(t *testing.T, p *program, run string) string {
	t.Helper()
	var ids []string
	for line := range strings.Lines(p.run(t, 0, "effects", run, "--json")) {
		var effect struct{ Effect, State string }
		require.NoError(t, json.Unmarshal([]byte(line), &effect))
		if effect.State == "blocked" {
			ids = append(ids, effect.Effect)
		}
	}
	require.Len(t, ids, 1)
	return ids[0]
}
