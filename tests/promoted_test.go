package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/fixtures"
	"waymark/tests/sample"
)

// TestAKilledRunKeepsItsVersion kills a run, has another version promoted meanwhile, and resumes the run.
func TestAKilledRunKeepsItsVersion(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	binary, folder := buildWaymark(t), t.TempDir()
	fixtures.Write(t, filepath.Join(folder, "in.csv"), killedRows)
	document := strings.NewReplacer(": in.csv", ": "+folder+"/in.csv", ": out/", ": "+folder+"/out/").Replace(killedDocument)
	deploy := func(name, amount string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(strings.ReplaceAll(document, "500", amount)), 0o600))
		do(t, binary, folder, "deploy", name, "--to", "test", "--allow-path", folder)
	}
	promote := func() {
		do(t, binary, folder, "promote", "killed", "--from", "test", "--to", "default", "--why", "tried")
	}
	deploy("pipeline.yaml", "500")
	promote()
	killed := killOne(t, binary, folder, wholeBytes/4, "--pipeline", "killed", "--run-id", "r", "--allow-path", folder)
	require.True(t, killed, "the run ended before it was killed")

	deploy("later.yaml", "900")
	promote()
	do(t, binary, folder, "resume", "r", "--allow-path", folder)
	do(t, binary, folder, "verify", "r", "--allow-path", folder)
	require.Contains(t, do(t, binary, folder, "runs", "--json"), `"version":1,`)
	high, err := os.ReadFile(filepath.Join(folder, "out/high.csv"))
	require.NoError(t, err)
	require.Equal(t, wholeLines["high.csv"], strings.Count(string(high), "\n"), "the rows of the version that it began with")

	do(t, binary, folder, "run", "--pipeline", "killed", "--run-id", "s", "--allow-path", folder)
	require.Contains(t, do(t, binary, folder, "runs", "--json"), `"version":2,`)
}

// do runs the program, which must succeed, and returns what it printed.
func do(t *testing.T, binary, folder string, args ...string) string {
	t.Helper()
	out, err := waymark(binary, folder, args...)
	require.NoError(t, err, "%s", out)
	return string(out)
}
