package lab

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestACopyIsLikeWhatItIsACopyOf(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	require.NoError(t, os.MkdirAll(filepath.Join(from, "a/b"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(from, "left-out"), 0o755))
	write := func(name, content string, mode os.FileMode) {
		require.NoError(t, os.WriteFile(filepath.Join(from, name), []byte(content), mode))
	}
	write("one", "1", 0o640)
	write("a/b/two", "2", 0o400)
	write("left-out/three", "3", 0o600)
	write("four", "4", 0o600)
	old := time.Date(2020, 1, 2, 3, 4, 5, 678_000, time.UTC)
	require.NoError(t, os.Chtimes(filepath.Join(from, "one"), old, old))
	require.NoError(t, os.Link(filepath.Join(from, "one"), filepath.Join(from, "a/linked")))
	require.NoError(t, os.Symlink("one", filepath.Join(from, "points")))

	skip := func(path string) bool {
		return path == filepath.Join(from, "left-out") || path == filepath.Join(from, "four")
	}
	require.NoError(t, copyFolder(from, to, skip))
	stat := func(name string) os.FileInfo {
		info, err := os.Stat(filepath.Join(to, name))
		require.NoError(t, err)
		return info
	}
	require.True(t, stat("one").ModTime().Equal(old))
	require.Equal(t, os.FileMode(0o400), stat("a/b/two").Mode().Perm())
	require.True(t, os.SameFile(stat("one"), stat("a/linked")), "hard links stay hard links")
	points, err := os.Readlink(filepath.Join(to, "points"))
	require.NoError(t, err)
	require.Equal(t, "one", points)
	require.NoDirExists(t, filepath.Join(to, "left-out"))
	require.NoFileExists(t, filepath.Join(to, "four"))

	require.NoError(t, os.WriteFile(filepath.Join(to, "new"), nil, 0o600))
	require.NoError(t, replaceFolder(to, from))
	require.NoFileExists(t, filepath.Join(to, "new"))
	require.FileExists(t, filepath.Join(to, "four"))
}

func TestAFolderThatHoldsTooMuchIsRefused(t *testing.T) {
	folder := t.TempDir()
	none := func(string) bool { return false }
	require.NoError(t, os.WriteFile(filepath.Join(folder, "large"), nil, 0o600))
	require.NoError(t, os.Truncate(filepath.Join(folder, "large"), maxImageBytes))
	require.NoError(t, checkSize(folder, none))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "more"), []byte("x"), 0o600))
	require.ErrorContains(t, checkSize(folder, none), "holds more than 64 MiB")
	require.NoError(t, checkSize(folder, func(path string) bool { return filepath.Base(path) == "large" }))
}
