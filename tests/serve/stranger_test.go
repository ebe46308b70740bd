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
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/serving"
)

// printed is what a stranger's program has printed. The first time that it says how the run is after a pause, or that
// an order is refused, the run gets the rest of its rows.
type printed struct {
	serving.Log
	release func()
}

// Write adds what the program prints.
func (p *printed) Write(text []byte) (int, error) {
	n, err := p.Log.Write(text)
	if so := p.String(); strings.Contains(so, "status running") || strings.Contains(so, "refused") {
		p.release()
	}
	return n, err
}

// requireServed requires that a stranger's program prints what docs/services.md says, of the run that there is, which
// has fewer rows.
func requireServed(t *testing.T, s *serving.Strangers, program *exec.Cmd) {
	t.Helper()
	said := &printed{release: s.Web.Release}
	program.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+s.Address, "PYTHONUNBUFFERED=1")
	program.Stdout, program.Stderr = said, said
	require.NoError(t, program.Run(), "%s", said)
	out := said.String()
	_, says, found := strings.Cut(manual.Page(t, "services.md"), "It prints:\n\n```\n")
	require.True(t, found)
	says, _, _ = strings.Cut(says, "```")
	says = strings.Replace(says, " 300001 rows", fmt.Sprintf(" %d rows", serving.StrangersRows), 1)
	digest := regexp.MustCompile(`(?m)^output ([0-9a-f]+(?:…)?) (.*)$`)
	printed := digest.FindStringSubmatch(out)
	require.NotNil(t, printed, out)
	require.Equal(t, digest.ReplaceAllString(says, "output"), digest.ReplaceAllString(out, "output"))
	require.Contains(t, digest.FindString(says), "/out/orders.jsonl")
	require.Equal(t, filepath.Join(s.Folder, "out", "orders.jsonl"), printed[2])
	content, err := os.ReadFile(printed[2])
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(content)), printed[1])

	// The key gives it the same run again, which has ended: its orders come too late, and its result is the same.
	again := exec.CommandContext(t.Context(), program.Path, program.Args[1:]...)
	again.Env = program.Env
	more, err := again.CombinedOutput()
	require.NoError(t, err, "%s", more)
	require.Contains(t, string(more), "pause is refused: ")
	require.Equal(t, printed[0], digest.FindString(string(more)))
	runs := serving.Listed[serving.Run](t, s.Server, "runs")
	require.Len(t, runs, 1)
	s.Waymark(t, "verify", runs[0].Run)
}

// TestAStrangerInGo compiles the program of docs/services.md in a module that knows nothing of this one, as a package,
// which is not linked; make nightly vets it, links it, and lets it start a run.
func TestAStrangerInGo(t *testing.T) {
	t.Parallel()
	module := t.TempDir()
	require.NoError(t, os.CopyFS(module, os.DirFS("../stranger")))
	programs := manual.Blocks(manual.Page(t, "services.md"), "go")
	require.Len(t, programs, 1)
	program := programs[0]
	steps := [][]string{{"vet", "."}, {"build", "-ldflags=-s -w", "-o", "stranger", "."}}
	if !sample.All() {
		program = strings.Replace(program, "package main\n", "package stranger\n", 1)
		steps = [][]string{{"build", "."}}
	}
	require.NoError(t, os.WriteFile(filepath.Join(module, "main.go"), []byte(program), 0o600))
	for _, args := range steps {
		step := exec.CommandContext(t.Context(), "go", args...)
		step.Dir, step.Env = module, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		out, err := step.CombinedOutput()
		require.NoError(t, err, "go %s\n%s", strings.Join(args, " "), out)
	}
	sample.Rarely(t)
	requireServed(t, serving.StartForStrangers(t), exec.CommandContext(t.Context(), filepath.Join(module, "stranger")))
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
	requireServed(t, serving.StartForStrangers(t), exec.CommandContext(t.Context(), python, file))
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
	requireServed(t, serving.StartForStrangers(t), exec.CommandContext(t.Context(), "node", file))
}
