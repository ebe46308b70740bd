package file

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file/filetest"
)

// linked returns a Root that follows links, its folder, and a folder that is allowed besides, with files and links in them.
func linked(t *testing.T) (root *Root, dir, allowed string) {
	dir, allowed = t.TempDir(), t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.csv")
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(outside, "a\n666\n")
	write(filepath.Join(dir, "data", "in.csv"), "a\n1\n")
	write(filepath.Join(allowed, "far.csv"), "a\n2\n")
	for name, target := range map[string]string{
		"data/near.csv": "in.csv", "data/far.csv": filepath.Join(allowed, "far.csv"), "data/out.csv": outside, "data/broken.csv": "none",
		"data/loop.csv": "loop.csv", "folder": "data", "away": filepath.Dir(outside), "there": allowed, "data/device.csv": "/dev/zero",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	root, err := NewRoot(dir, allowed)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	root.FollowLinks()
	return root, dir, allowed
}

func TestLinksAreFollowedIntoAllowedFolders(t *testing.T) {
	root, dir, allowed := linked(t)
	for path, want := range map[string]struct{ target, rows string }{
		"data/in.csv":                        {"", "1"},
		"data/near.csv":                      {filepath.Join(dir, "data", "in.csv"), "1"},
		"data/far.csv":                       {filepath.Join(allowed, "far.csv"), "2"},
		"folder/in.csv":                      {filepath.Join(dir, "data", "in.csv"), "1"},
		"there/far.csv":                      {filepath.Join(allowed, "far.csv"), "2"},
		"there/*.csv":                        {filepath.Join(allowed, "far.csv"), "2"},
		filepath.Join(dir, "folder/in?.csv"): {},
	} {
		source, err := newPlainSource(pipeline.Files{Path: path, AllowEmpty: true}, Access{Root: root})
		require.NoError(t, err)
		info, err := source.Stat(t.Context())
		require.NoError(t, err, path)
		if want.rows == "" {
			require.Empty(t, info.Files, path)
			continue
		}
		require.Len(t, info.Files, 1, path)
		real, err := filepath.EvalSymlinks(filepath.Join(dir, info.Files[0].Path))
		require.NoError(t, err)
		if want.target != "" {
			want.target = real
		}
		require.Equal(t, want.target, info.Files[0].Target, path)
		read := filetest.Collect(t, source, filetest.Large)
		require.Len(t, read.Records, 1, path)
		require.Equal(t, want.rows, read.Records[0], path)
	}
}

func TestLinksThatLeadElsewhereAreRefused(t *testing.T) {
	root, _, _ := linked(t)
	for path, message := range map[string]string{
		"data/out.csv":    "is a symbolic link that leads to",
		"away/secret.csv": "outside the folders that the document may use: allow the one that is in with --allow-path FOLDER",
		"data/broken.csv": "not a regular file (a symbolic link)",
		"data/loop.csv":   "not a regular file (a symbolic link)",
		"data/device.csv": "is a symbolic link that leads to",
		"away/*.csv":      "is a symbolic link that leads to",
	} {
		_, err := rootStore{root}.List(t.Context(), path)
		var fault *plugin.SourceError
		require.ErrorAs(t, err, &fault, path)
		require.Equal(t, codePathRefused, fault.Code)
		require.ErrorContains(t, err, message, path)
	}
}

func TestALinkDoesNotFailAPattern(t *testing.T) {
	root, _, _ := linked(t)
	source, err := newPlainSource(pipeline.Files{Path: "data/*.csv"}, Access{Root: root})
	require.NoError(t, err)
	info, err := source.Stat(t.Context())
	require.NoError(t, err)
	var paths []string
	for _, file := range info.Files {
		paths = append(paths, file.Path)
	}
	require.Equal(t, []string{"data/far.csv", "data/in.csv", "data/near.csv"}, paths)
	require.Equal(t, []string{"data/broken.csv", "data/device.csv", "data/loop.csv", "data/out.csv"}, info.Skipped)
	_, skipped, err := root.Glob("*/far.csv")
	require.NoError(t, err)
	require.Equal(t, []string{"away", "folder", "there"}, skipped)
}

// TestLookLeavesOut what is no file, with a reason, and finds the files beside it.
func TestLookLeavesOut(t *testing.T) {
	root, dir, _ := linked(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data", "sub.csv"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "data", "pipe.csv"), 0o600))
	files, left, err := rootStore{root}.Look(t.Context(), "data/*.csv")
	require.NoError(t, err)
	var paths []string
	for _, file := range files {
		paths = append(paths, file.Path)
	}
	require.Equal(t, []string{"data/far.csv", "data/in.csv", "data/near.csv"}, paths)
	require.Len(t, left, 6)
	for i, reason := range []string{
		"data/broken.csv: PATH_REFUSED: not a regular file (a symbolic link)", "data/device.csv: PATH_REFUSED: is a symbolic link that leads to", "data/loop.csv", "data/out.csv",
		"data/pipe.csv: PATH_REFUSED: not a regular file (a FIFO)", "data/sub.csv: PATH_REFUSED: not a regular file (a folder)",
	} {
		require.ErrorContains(t, left[i], reason)
	}

	_, left, err = rootStore{root}.Look(t.Context(), "*/in.csv")
	require.NoError(t, err)
	require.Len(t, left, 3)
	require.ErrorContains(t, left[0], "away")

	files, left, err = rootStore{root}.Look(t.Context(), "data/none*.csv")
	require.NoError(t, err)
	require.Empty(t, left)
	require.Empty(t, files)
	for _, path := range []string{"gone/*.csv", "gone/*/a.csv"} {
		_, _, err = rootStore{root}.Look(t.Context(), path)
		require.ErrorContains(t, err, "gone", path)
		require.ErrorContains(t, err, "there is no such folder: make it, or mount what has it", path)
	}
}

func TestALinkThatLeadsElsewhereByNowIsAChange(t *testing.T) {
	root, dir, _ := linked(t)
	source, err := newPlainSource(pipeline.Files{Path: "data/near.csv"}, Access{Root: root})
	require.NoError(t, err)
	pin, err := source.Stat(t.Context())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "twin.csv"), []byte("a\n1\n"), 0o600))
	stat, err := os.Stat(filepath.Join(dir, "data", "in.csv"))
	require.NoError(t, err)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "data", "twin.csv"), stat.ModTime(), stat.ModTime()))
	require.NoError(t, os.Remove(filepath.Join(dir, "data", "near.csv")))
	require.NoError(t, os.Symlink("twin.csv", filepath.Join(dir, "data", "near.csv")))
	_, err = source.Open(t.Context(), plugin.Cursor{}, pin)
	require.ErrorContains(t, err, CodeSourceChanged)
}

func TestStandardInputIsWrittenAsADash(t *testing.T) {
	root, _, _ := linked(t)
	for _, path := range []string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/dev//stdin", "/dev/stdout"} {
		_, err := newPlainSource(pipeline.Files{Path: path}, Access{Root: root})
		require.ErrorContains(t, err, `standard input and output are written as path: "-"`, path)
	}
}
