package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/plugin"
	"waymark/tests/fixtures"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

// TestOutputsAreAttestedUnasked serves a folder, kills the process, edits an output, and serves again: the edit is found, told to others, and shown; and when the output
// is as it was, that is found as well.
func TestOutputsAreAttestedUnasked(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "served.yaml"), []byte(fixtures.Served+"attest: {every: 1s, for: 1h}\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(fixtures.Numbered(0, 50)), 0o600))
	type attested struct {
		Result plugin.State
		Since  string
	}
	found := func(s *serving.Server) (a attested) {
		status := serving.Listed[struct {
			Sinks []struct{ Attested *attested }
		}](t, s, "status", "r1")[0]
		if status.Sinks[0].Attested != nil {
			a = *status.Sinks[0].Attested
		}
		return a
	}
	becomes := func(s *serving.Server, result plugin.State) {
		t.Helper()
		require.Eventually(t, func() bool { return found(s).Result == result }, patience, 200*time.Millisecond)
	}
	s := serving.Start(t, folder)
	s.Waymark(t, "run", "served.yaml", "--run-id", "r1")
	becomes(s, plugin.AsWritten)
	require.Contains(t, s.Waymark(t, "doctor"), "1 run attested on schedule\n")
	require.NoError(t, s.Command.Process.Kill())
	_ = s.Command.Wait()

	path := filepath.Join(folder, "out", "served.csv")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(content, "edited\n"...), 0o600))
	time.Sleep(2100 * time.Millisecond) // as long as it takes to be overdue
	require.Regexp(t, `warn +outputs +1 run attested on schedule, 1 of them overdue, r1 since .* start waymark serve`, s.Waymark(t, "doctor"))

	s = serving.Start(t, folder)
	becomes(s, plugin.Changed)
	require.Contains(t, found(s).Since, "changed between the attestation of ")
	require.Regexp(t, `CHANGED +out changed at .*; 7 bytes were added at the end`, s.Waymark(t, "status", "r1"))
	require.Regexp(t, `warn +outputs +1 run attested on schedule; 1 output found changed or missing, such as out of run r1, changed +see who wrote there: waymark outputs `, s.Waymark(t, "doctor"))
	require.NoError(t, os.Remove(path))
	becomes(s, plugin.Missing)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	becomes(s, plugin.AsWritten)
	require.Equal(t, 2, strings.Count(s.Waymark(t, "outbox", "--kinds", "output.changed"), "\n"), "one for the change, one for the removal")
	s.Waymark(t, "log", "check")
}
