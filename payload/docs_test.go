package payload_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/fsstore"
)

// docBlock returns the only fenced block of the given language in docs/payloads.md that contains marker.
func docBlock(t *testing.T, language, marker string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/payloads.md")
	require.NoError(t, err)
	var found []string
	for i, block := range strings.Split(string(page), "```") {
		if i%2 == 1 && strings.HasPrefix(block, language+"\n") && strings.Contains(block, marker) {
			found = append(found, strings.TrimPrefix(block, language+"\n"))
		}
	}
	require.Len(t, found, 1)
	return found[0]
}

// needs skips the test if a command is missing here, and fails it where CI is set: there it must not be missing.
func needs(t *testing.T, commands ...string) {
	t.Helper()
	for _, command := range commands {
		if _, err := exec.LookPath(command); err != nil {
			require.Empty(t, os.Getenv("CI"), "CI must have %s", command)
			t.Skipf("%s is not installed", command)
		}
	}
}

// storedPack puts p into a new folder and returns the folder and the path of the object.
func storedPack(t *testing.T, p *payload.Pack) (dir, path string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "payloads")
	b, err := fsstore.Create(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	stored, err := payload.EncodePack(nil, p)
	require.NoError(t, err)
	d, err := payload.New(b, payload.Options{}).Put(t.Context(), stored)
	require.NoError(t, err)
	return dir, filepath.Join(dir, "objects", string(d[:2]), string(d))
}

// TestStrangersCanReadPacks runs the program of docs/payloads.md on packs of every shape.
func TestStrangersCanReadPacks(t *testing.T) {
	needs(t, "python3", "zstd")
	program := docBlock(t, "python", "def varint")
	for name, records := range map[string][]string{
		"none":          nil,
		"some":          {"a", "", "bc"},
		"many":          strings.Split(string(csvChunk(20_000).Data), "\n"),
		"padded frames": {strings.Repeat(" ", 3<<20), "x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, path := storedPack(t, packOf("head", "\r\n", records...))
			out, err := exec.Command("python3", "-c", program, path).CombinedOutput()
			require.NoError(t, err, "%s", out)
			want := ""
			if records != nil {
				want = strings.Join(records, "\n") + "\n"
			}
			require.True(t, want == string(out), "the program printed %d bytes instead of %d", len(out), len(want))
		})
	}
}

// TestStrangersCanCheckObjects runs the shell loop of docs/payloads.md on good objects and on a changed one.
func TestStrangersCanCheckObjects(t *testing.T) {
	needs(t, "sh", "sha256sum")
	loop := docBlock(t, "sh", "sha256sum")
	dir, path := storedPack(t, csvChunk(100))
	check := func() ([]byte, error) {
		command := exec.Command("sh", "-c", loop)
		command.Dir = filepath.Dir(dir)
		return command.CombinedOutput()
	}
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "tmp-x"), []byte("half"), 0o600))
	out, err := check()
	require.NoError(t, err, "%s", out)
	require.Empty(t, out)

	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.WriteFile(path, []byte("changed"), 0o600))
	out, err = check()
	require.Error(t, err)
	require.Contains(t, string(out), filepath.Base(path)+": FAILED")
}
