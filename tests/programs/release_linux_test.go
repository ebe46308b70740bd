package programs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
)

// TestRelease makes a release for this platform twice: both have the same bytes. Its program runs the README's first
// example in a root folder that has nothing but both and /proc, with HOME set as containers have it. Without one of
// these it says which.
func TestRelease(t *testing.T) {
	sample.Rarely(t)
	made, again := t.TempDir(), t.TempDir()
	for _, folder := range []string{made, again} {
		output(t, command(root, nil, ".ci/release", "1.2.3", folder, "linux/"+runtime.GOARCH))
	}
	sums, err := os.ReadFile(filepath.Join(made, "SHA256SUMS"))
	require.NoError(t, err)
	same, err := os.ReadFile(filepath.Join(again, "SHA256SUMS"))
	require.NoError(t, err)
	require.Equal(t, string(sums), string(same))
	output(t, command(made, nil, "sha256sum", "--check", "--strict", "SHA256SUMS"))

	for _, program := range []string{"waymark", "waymark-worker"} {
		name := fmt.Sprintf("%s_1.2.3_linux_%s", program, runtime.GOARCH)
		require.Contains(t, string(sums), name+".tar.gz\n")
		require.Contains(t, string(sums), name+".cdx.json\n")
		output(t, command(made, nil, "tar", "xzf", name+".tar.gz"))
		require.FileExists(t, filepath.Join(made, name, "LICENSE"))
		about, err := os.ReadFile(filepath.Join(made, name, "README.md"))
		require.NoError(t, err)
		require.Contains(t, string(about), "./"+program)
		require.NotContains(t, string(about), "](", "an archive has nothing that a link could lead to")
		said := output(t, command(made, nil, filepath.Join(made, name, program), "--version"))
		require.Regexp(t, "^"+program+` 1\.2\.3[ ,]`, said)
		requireSBOM(t, program, filepath.Join(made, name+".cdx.json"))
		require.FileExists(t, filepath.Join(made, "image/linux", runtime.GOARCH, program))
	}

	t.Run("in an empty root", func(t *testing.T) {
		folder := t.TempDir()
		proc := filepath.Join(folder, "proc")
		require.NoError(t, os.Mkdir(proc, 0o700))
		copyExample(t, folder)
		static := filepath.Join(made, "image/linux", runtime.GOARCH, "waymark")
		require.NoError(t, os.Rename(static, filepath.Join(folder, "waymark")))
		alone := func(args ...string) *exec.Cmd {
			program := command("/", nil, "/waymark", args...)
			program.Env, program.SysProcAttr = []string{"HOME=/"}, &syscall.SysProcAttr{Chroot: folder}
			return program
		}
		requireMissing := func(what string, environment ...string) {
			program := alone("run", "--state", "other", "examples/bird-strikes/pipeline.yaml")
			program.Env = append([]string{}, environment...) // nil would be that of this test
			said, err := program.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(said), what)
			require.Equal(t, 1, strings.Count(string(said), "\n"), "%s", said)
		}
		err := syscall.Mount("proc", proc, "proc", 0, "")
		if err != nil && os.Getenv("CI") == "" { // there no test may be left out
			t.Skip("only root can give a program another root folder:", err)
		}
		require.NoError(t, err)
		defer func() { _ = syscall.Unmount(proc, 0) }() // if something fails before it is
		requireExample(t, alone())
		requireMissing("set HOME")
		require.NoError(t, syscall.Unmount(proc, 0))
		requireMissing("mount /proc", "HOME=/")
	})
}

// requireSBOM requires that an SBOM names the program and its modules, each with a version and, except Go's library, a
// hash.
func requireSBOM(t *testing.T, program, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(text), "(devel)", "what stands in for modules is none")
	type component struct {
		Name, Version, PURL string
		Hashes              []struct{ Content string }
	}
	var sbom struct {
		Metadata   struct{ Component component }
		Components []component
	}
	require.NoError(t, json.Unmarshal(text, &sbom))
	require.Equal(t, "v1.2.3", sbom.Metadata.Component.Version)
	require.Equal(t, program, sbom.Metadata.Component.Name)
	names := map[string]bool{}
	for _, c := range sbom.Components {
		names[c.Name] = true
		require.Regexp(t, `^(v|go)\d+\.\d+`, c.Version, c.Name)
		require.Regexp(t, `^pkg:golang/[a-z]`, c.PURL, c.Name)
		if c.Name != "std" {
			require.NotEmpty(t, c.Hashes, c.Name)
		}
	}
	require.NotContains(t, names, "pgregory.net/rapid", "tests are not in the program")
	for _, module := range []string{"std", "go.temporal.io/sdk", "github.com/jackc/pgx/v5"} {
		require.Contains(t, names, module)
	}
}
