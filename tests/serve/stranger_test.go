package serve_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/manual"
	"waymark/tests/services"
	"waymark/tests/serving"
)

// requireServed requires that a stranger's program prints what docs/services.md says, of the run that there is.
func requireServed(t *testing.T, s *serving.Server, program *exec.Cmd, address string) {
	t.Helper()
	program.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+address)
	out, err := program.CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, says, found := strings.Cut(manual.Page(t, "services.md"), "It prints:\n\n```\n")
	require.True(t, found)
	says, _, _ = strings.Cut(says, "```")
	digest := regexp.MustCompile(`(?m)^output ([0-9a-f]+(?:…)?) (.*)$`)
	printed := digest.FindStringSubmatch(string(out))
	require.NotNil(t, printed, "%s", out)
	require.Equal(t, digest.ReplaceAllString(says, "output"), digest.ReplaceAllString(string(out), "output"))
	require.Contains(t, digest.FindString(says), "/out/orders.jsonl")
	require.Equal(t, filepath.Join(s.Folder, "out", "orders.jsonl"), printed[2])
	content, err := os.ReadFile(printed[2])
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(content)), printed[1])

	// The key gives it the same run again, which has ended: its orders come too late, and its result is the same.
	again := exec.CommandContext(t.Context(), program.Path, program.Args[1:]...)
	again.Env = program.Env
	out, err = again.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "pause is refused: ")
	require.Equal(t, printed[0], digest.FindString(string(out)))
	runs := serving.Listed[serving.Run](t, s, "runs")
	require.Len(t, runs, 1)
	s.Waymark(t, "verify", runs[0].Run)
}

// TestAStrangerInGo builds the program of docs/services.md in a module that knows nothing of this one, and lets it start a run.
func TestAStrangerInGo(t *testing.T) {
	t.Parallel()
	module := t.TempDir()
	require.NoError(t, os.CopyFS(module, os.DirFS("../stranger")))
	programs := manual.Blocks(manual.Page(t, "services.md"), "go")
	require.Len(t, programs, 1)
	require.NoError(t, os.WriteFile(filepath.Join(module, "main.go"), []byte(programs[0]), 0o600))
	for _, args := range [][]string{{"vet", "."}, {"build", "-ldflags=-s -w", "-o", "stranger", "."}} {
		step := exec.CommandContext(t.Context(), "go", args...)
		step.Dir, step.Env = module, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		out, err := step.CombinedOutput()
		require.NoError(t, err, "go %s\n%s", strings.Join(args, " "), out)
	}
	s, address := serving.StartForStrangers(t)
	requireServed(t, s, exec.CommandContext(t.Context(), filepath.Join(module, "stranger")), address)
}

// TestAStrangerInPython does the same with the Python program, where Python has Temporal's SDK.
func TestAStrangerInPython(t *testing.T) {
	t.Parallel()
	programs := manual.Blocks(manual.Page(t, "services.md"), "python")
	require.Len(t, programs, 1)
	file := filepath.Join(t.TempDir(), "month_end.py")
	require.NoError(t, os.WriteFile(file, []byte(programs[0]), 0o600))
	python := services.Python(t)
	out, err := exec.CommandContext(t.Context(), python, "-m", "py_compile", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	if exec.CommandContext(t.Context(), python, "-c", "import temporalio").Run() != nil {
		t.Skip("Python has no Temporal SDK here: pip install temporalio")
	}
	s, address := serving.StartForStrangers(t)
	requireServed(t, s, exec.CommandContext(t.Context(), python, file), address)
}

// TestAStrangerInJavaScript does the same with the program for Node, where WAYMARK_NODE names a folder that has Temporal's client.
func TestAStrangerInJavaScript(t *testing.T) {
	t.Parallel()
	programs := manual.Blocks(manual.Page(t, "services.md"), "js")
	require.Len(t, programs, 1)
	folder := t.TempDir()
	file := filepath.Join(folder, "month_end.mjs")
	require.NoError(t, os.WriteFile(file, []byte(programs[0]), 0o600))
	require.NoError(t, os.Symlink(services.NodeModules(t, "@temporalio/client"), filepath.Join(folder, "node_modules")))
	s, address := serving.StartForStrangers(t)
	requireServed(t, s, exec.CommandContext(t.Context(), "node", file), address)
}
