package tests

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/tests/manual"
	"waymark/tests/sample"
)

// TestGoProgram builds the program of docs/go.md in a module of its own, kills it while it executes a run, and lets it resume the run.
func TestGoProgram(t *testing.T) {
	sample.Rarely(t)
	folder := t.TempDir()
	binary := buildProgram(t, folder)
	document := writeOrders(t, folder, 60_000)

	first := exec.Command(binary, document)
	first.Dir = folder
	events, err := first.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, first.Start())
	killWhenRowsMove(t, first, bufio.NewScanner(events))

	answer := ask(t, binary, folder, document)
	require.Contains(t, answer, "birds completed in epoch 1 with 60000 rows")
	require.Regexp(t, `(?m)^progress \d+$`, answer)
	require.Regexp(t, `(?m)^ended $`, answer)
	require.Contains(t, ask(t, binary, folder, "explain", "birds"), "sink     out, row 1")

	requireStarter(t, filepath.Join(folder, "state/landscape.db"))

	require.Contains(t, fails(t, 1, binary, folder, "explain", "nobody"), `not_found: no run "nobody" is recorded`)
	require.Regexp(t, `conflict: run birds is recorded: .* \(cure: "other_id"\)`, fails(t, 1, binary, folder, document))
	require.Contains(t, fails(t, 1, binary, t.TempDir(), filepath.Join(folder, "none.yaml")), "invalid: ")
	require.Contains(t, fails(t, 2, binary, folder), "usage: ")
	require.Contains(t, fails(t, 2, binary, folder, "explain"), "usage: ")
}

// requireStarter requires that the run was started by the user of this process, with the library.
func requireStarter(t *testing.T, path string) {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	run, err := landscape.NewReader(store).Run(t.Context(), "birds")
	require.NoError(t, err)
	who, err := user.Current()
	require.NoError(t, err)
	require.Equal(t, who.Username, run.Actor)
	require.Equal(t, activities.TriggerLibrary, run.Trigger)
}

// buildProgram builds the second program of docs/go.md next to this module, in the workspace of that page. Without a
// workspace, the other commands of that page find the same packages.
func buildProgram(t *testing.T, folder string) (binary string) {
	t.Helper()
	programs := manual.Blocks(manual.Page(t, "go.md"), "go")
	require.Len(t, programs, 2)
	require.Less(t, strings.Count(programs[1], "\n"), 90)
	module := filepath.Join(folder, "birds")
	require.NoError(t, os.Mkdir(module, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(module, "main.go"), []byte(programs[1]), 0o600))
	here, err := filepath.Abs("..")
	require.NoError(t, err)
	ways := manual.Blocks(manual.Page(t, "go.md"), "sh")
	require.Len(t, ways, 2)
	do := func(folder, script string) (output string) {
		script = "set -e\n" + strings.ReplaceAll(script, "../waymark", here)
		step := exec.Command("sh", "-c", script)
		step.Dir, step.Env = folder, append(os.Environ(), "GOWORK=", "GOFLAGS=")
		out, err := step.CombinedOutput()
		require.NoError(t, err, "%s\n%s", script, out)
		return string(out)
	}
	alone := filepath.Join(folder, "alone")
	require.NoError(t, os.CopyFS(alone, os.DirFS(module)))
	do(module, ways[0]+"go build -ldflags='-s -w' -o birds .\n")
	do(alone, ways[1])
	require.Equal(t, do(module, "go list -deps .\n"), do(alone, "go list -deps .\n"))
	return filepath.Join(module, "birds")
}

func writeOrders(t *testing.T, folder string, rows int) (document string) {
	t.Helper()
	var text strings.Builder
	text.WriteString("id,total\n")
	for i := range rows {
		fmt.Fprintf(&text, "%d,%d.50\n", i+1, i%1000)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders.csv"), []byte(text.String()), 0o600))
	document = filepath.Join(folder, "orders.yaml")
	require.NoError(t, os.WriteFile(document, []byte(`name: orders
chunk: {rows: 500}
sources:
  orders: {csv: {path: orders.csv}, schema: {fields: {id: int, total: decimal}}}
sinks:
  out: {csv: {path: out/orders.csv}}
`), 0o600))
	return document
}

// killWhenRowsMove kills the program when it says that rows were read.
func killWhenRowsMove(t *testing.T, program *exec.Cmd, events *bufio.Scanner) {
	t.Helper()
	var said []string
	for events.Scan() {
		said = append(said, events.Text())
		var rows int64
		if n, _ := fmt.Sscanf(events.Text(), "progress %d", &rows); n == 1 && rows > 0 {
			require.NoError(t, program.Process.Kill())
			_ = program.Wait()
			return
		}
	}
	require.Fail(t, "the program ended before rows moved", "%s", strings.Join(said, "\n"))
}

// ask runs the program in the folder and returns what it says.
func ask(t *testing.T, binary, folder string, args ...string) string {
	t.Helper()
	program := exec.Command(binary, args...)
	program.Dir = folder
	out, err := program.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// fails runs the program in the folder and returns what it says before it ends with the exit code.
func fails(t *testing.T, code int, binary, folder string, args ...string) string {
	t.Helper()
	program := exec.Command(binary, args...)
	program.Dir = folder
	var said strings.Builder
	program.Stderr = &said
	err := program.Run()
	exit, ended := errors.AsType[*exec.ExitError](err)
	require.True(t, ended, "%v: %s", err, said.String())
	require.Equal(t, code, exit.ExitCode(), said.String())
	return said.String()
}
