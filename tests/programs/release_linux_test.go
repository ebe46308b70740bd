package programs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
)

// TestRelease makes a release for this platform twice: both have the same bytes. Its program runs the README's first
// example in a root folder that has nothing but both and /proc, with HOME set as containers have it.
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
		require.FileExists(t, filepath.Join(made, name, "README.md"))
		said := output(t, command(made, nil, filepath.Join(made, name, program), "--version"))
		require.Regexp(t, `^waymark 1\.2\.3[ ,]`, said)
		requireSBOM(t, filepath.Join(made, name+".cdx.json"))
		require.FileExists(t, filepath.Join(made, "image/linux", runtime.GOARCH, program))
	}

	t.Run("in an empty root", func(t *testing.T) {
		folder := t.TempDir()
		proc := filepath.Join(folder, "proc")
		require.NoError(t, os.Mkdir(proc, 0o700))
		err := syscall.Mount("proc", proc, "proc", 0, "")
		if err != nil && os.Getenv("CI") == "" { // there no test may be left out
			t.Skip("only root can give a program another root folder:", err)
		}
		require.NoError(t, err)
		defer func() { require.NoError(t, syscall.Unmount(proc, 0)) }()
		copyExample(t, folder)
		static := filepath.Join(made, "image/linux", runtime.GOARCH, "waymark")
		require.NoError(t, os.Rename(static, filepath.Join(folder, "waymark")))
		alone := command("/", nil, "/waymark")
		alone.Env, alone.SysProcAttr = []string{"HOME=/"}, &syscall.SysProcAttr{Chroot: folder}
		requireExample(t, alone)
	})
}

// requireSBOM requires that an SBOM names the program's modules, each with a version.
func requireSBOM(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var sbom struct {
		Metadata   struct{ Component struct{ Version string } }
		Components []struct{ Name, Version string }
	}
	require.NoError(t, json.Unmarshal(text, &sbom))
	require.Equal(t, "v1.2.3", sbom.Metadata.Component.Version)
	versions := map[string]string{}
	for _, component := range sbom.Components {
		versions[component.Name] = component.Version
	}
	require.NotContains(t, versions, "pgregory.net/rapid", "tests are not in the program")
	for _, module := range []string{"std", "go.temporal.io/sdk", "github.com/jackc/pgx/v5"} {
		require.NotEmpty(t, versions[module], module)
	}
}
