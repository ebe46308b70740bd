// Package crash holds the pipelines of the crash laboratory, and tests of the laboratory itself: `make crash-quick`
// runs it.
package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/programs"
	"waymark/tests/sample"
)

const root = "../.." // the folder of the module

// program is a build with failpoints, and the folder in which it runs.
type program struct {
	binary string
	folder string
	env    []string
}

var built = sync.OnceValues(func() (string, error) { return programs.BuildArmed("waymark/cmd/waymark") })

// build returns the path of the program as it is in the tree, with failpoints. By day no test needs it.
func build(t *testing.T) string {
	t.Helper()
	sample.Rarely(t)
	binary, err := built()
	require.NoError(t, err)
	return binary
}

// change replaces a text of a file by another. It must be there once.
type change struct{ file, old, new string }

// applied returns the path of the file, and its content after the change.
func (c change) applied(t *testing.T) (path string, content []byte) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, c.file))
	require.NoError(t, err)
	content, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(content, []byte(c.old)), "%s has this text not once: %s", c.file, c.old)
	return path, bytes.Replace(content, []byte(c.old), []byte(c.new), 1)
}

// buildMutant returns the path of a program with these changes.
func buildMutant(t *testing.T, changes ...change) string {
	t.Helper()
	build(t)
	folder, replace := t.TempDir(), map[string]string{}
	for i, c := range changes {
		path, content := c.applied(t)
		replace[path] = filepath.Join(folder, fmt.Sprintf("mutant%d.go", i))
		require.NoError(t, os.WriteFile(replace[path], content, 0o600))
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	binary := filepath.Join(folder, "waymark-mutant")
	command := exec.Command("go", "build", "-ldflags=-s -w "+programs.Armed,
		"-o", binary, "-overlay", overlay, "./cmd/waymark")
	command.Dir = root
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// in returns the program in a new folder that holds these files of this package, and env in its environment.
func in(t *testing.T, binary string, files ...string) *program {
	t.Helper()
	p := &program{binary: binary, folder: t.TempDir()}
	for _, name := range files {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		p.write(t, name, string(content))
	}
	return p
}

func (p *program) write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(p.folder, name), []byte(content), 0o600))
}

// run runs the program, which must end with the code, -1 for one that was killed, and returns what it wrote.
func (p *program) run(t *testing.T, code int, args ...string) string {
	t.Helper()
	command := exec.Command(p.binary, append(args, "--quiet")...)
	command.Dir, command.Env = p.folder, append(os.Environ(), p.env...)
	out, err := command.CombinedOutput()
	ended, failed := errors.AsType[*exec.ExitError](err)
	if !failed {
		require.NoError(t, err)
		require.Equal(t, code, 0, "%s: %s", strings.Join(args, " "), out)
		return string(out)
	}
	require.Equal(t, code, ended.ExitCode(), "%s: %s", strings.Join(args, " "), out)
	return string(out)
}

// at says what happens at which moments from now on. An empty plan is none.
func (p *program) at(plan string) *program {
	p.env = append(p.env, "WAYMARK_FAILPOINTS="+plan)
	return p
}
