package file

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file/filetest"
)

// TestRefusedPaths shows what a source does not read: BI-149 to BI-154.
func TestRefusedPaths(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.csv")
	require.NoError(t, os.WriteFile(outside, []byte("a\n1\n"), 0o644))
	root, dir := newRoot(t, map[string]string{"data/in.csv": "a\n1\n"})
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Symlink(outside, at("link.csv")))
	require.NoError(t, os.Symlink("data/in.csv", at("inner.csv")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), at("linked")))
	require.NoError(t, os.Symlink("data", at("inner")))
	require.NoError(t, syscall.Mkfifo(at("fifo.csv"), 0o644))
	socket, err := net.Listen("unix", at("s.csv"))
	require.NoError(t, err)
	defer func() { require.NoError(t, socket.Close()) }()

	cases := []struct{ name, path, code, message string }{
		{"BI-149 parent", "../out.csv", "", `holds ".."`},
		{"BI-149 parent within", "data/../data/in.csv", "", `holds ".."`},
		{"BI-149 absolute with parent", dir + "/data/../../x.csv", "", `holds ".."`},
		{"BI-150 absolute outside", outside, "", "allow the folder it is in with --allow-path FOLDER"},
		{"BI-151 symbolic link out", "link.csv", codePathRefused, "not a regular file (a symbolic link)"},
		{"BI-151 symbolic link within", "inner.csv", codePathRefused, "not a regular file (a symbolic link)"},
		{"BI-151 symbolic link matched", "l*.csv", codePathRefused, "not a regular file (a symbolic link)"},
		{"BI-152 symbolic link to a folder out", "linked/secret.csv", codePathRefused, "is a symbolic link"},
		{"BI-152 symbolic link to a folder within", "inner/in.csv", codePathRefused, "is a symbolic link"},
		{"BI-152 symbolic link to a folder matched", "in*/in.csv", codePathRefused, "(a symbolic link)"},
		{"BI-154 proc", "/proc/self/environ", "", "outside"},
		{"BI-154 dev", "/dev/zero", "", "outside"},
		{"BI-154 FIFO", "fifo.csv", codePathRefused, "not a regular file (a FIFO)"},
		{"BI-154 socket", "s.csv", codePathRefused, "not a regular file (a socket)"},
		{"BI-154 folder", "data", codePathRefused, "not a regular file (a folder): name a file in it, or in a source a pattern such as folder/*.parquet"},
		{"NUL", "a\x00b", "", "NUL"},
		{"no path", "", "", "is empty"},
		{"bad pattern", "data/[", codePathRefused, "pattern"},
		{"nothing there", "data/none.csv", CodeNotFound, "no such file"},
		{"no folder there", "none/*.csv", CodeEmptySource, "no file matches"},
		{"no match", "data/*.txt", CodeEmptySource, "no file matches"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			source, err := newPlainSource(pipeline.Files{Path: c.path}, Access{Root: root})
			if c.code == "" {
				require.ErrorContains(t, err, "path: ")
				require.ErrorContains(t, err, c.message)
				return
			}
			require.NoError(t, err)
			_, err = source.Stat(t.Context())
			var o filetest.Outcome
			require.Equal(t, c.code, o.Fail(t, err).Err)
			require.ErrorContains(t, err, c.message)
		})
	}
}

// TestDevicesAreRefused shows that an allowed folder does not make a device readable: BI-154.
func TestDevicesAreRefused(t *testing.T) {
	root, err := NewRoot(t.TempDir(), "/dev")
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	_, _, err = root.Open("/dev/zero")
	require.ErrorContains(t, err, "not a regular file (a device)")
}

// TestSwappedLink swaps a file for links out of the folder and within it while it is opened: BI-153.
func TestSwappedLink(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.csv")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o644))
	root, dir := newRoot(t, map[string]string{"kept": "public", "other": "hidden"})
	name := filepath.Join(dir, "in.csv")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			temporary := filepath.Join(dir, "new")
			switch i % 4 {
			case 0:
				_ = os.Symlink(outside, temporary)
			case 2:
				_ = os.Symlink("other", temporary)
			default:
				_ = os.Link(filepath.Join(dir, "kept"), temporary)
			}
			_ = os.Rename(temporary, name)
			_ = os.Remove(temporary)
		}
	}()
	opened := 0
	for range 40_000 {
		file, info, err := root.Open("in.csv")
		if err != nil {
			continue
		}
		opened++
		require.True(t, info.Mode().IsRegular())
		content := make([]byte, 6)
		_, err = file.Read(content)
		require.NoError(t, err)
		require.Equal(t, "public", string(content))
		require.NoError(t, file.Close())
	}
	close(stop)
	<-done
	require.Positive(t, opened)
}

// TestAllowedFolders shows paths relative to the document and absolute ones in an allowed folder.
func TestAllowedFolders(t *testing.T) {
	allowed := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(allowed, "2026"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(allowed, "2026", "in.csv"), []byte("a\n1\n"), 0o644))
	root, err := NewRoot(t.TempDir(), allowed)
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	paths, _, err := root.Glob(allowed + "/2*/*.csv")
	require.NoError(t, err)
	require.Equal(t, []string{allowed + "/2026/in.csv"}, paths)
	file, info, err := root.Open(paths[0])
	require.NoError(t, err)
	require.Equal(t, int64(4), info.Size())
	require.NoError(t, file.Close())
	full, err := root.Abs("x/y.csv")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root.folders[0].path, "x", "y.csv"), full)
	_, _, err = root.Open("none.csv")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestNewRootNeedsItsFolders shows that a folder that does not exist is rejected.
func TestNewRootNeedsItsFolders(t *testing.T) {
	_, err := NewRoot(t.TempDir(), filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestGlobOrder shows that files are read in bytewise order of their paths.
func TestGlobOrder(t *testing.T) {
	root, _ := newRoot(t, map[string]string{"b.csv": "", "a/z.csv": "", "B.csv": "", "a.csv": "", "ä.csv": "", ".a.csv": "", "c.csv.tmp": ""})
	paths, _, err := root.Glob("*.csv")
	require.NoError(t, err)
	require.Equal(t, []string{"B.csv", "a.csv", "b.csv", "ä.csv"}, paths)
	paths, _, err = root.Glob("*/[yz].csv")
	require.NoError(t, err)
	require.Equal(t, []string{"a/z.csv"}, paths)
}

// TestEmptyPattern shows a pattern without a match that the document allows.
func TestEmptyPattern(t *testing.T) {
	root, _ := newRoot(t, nil)
	source, err := newPlainSource(pipeline.Files{Path: "*.csv", AllowEmpty: true}, Access{Root: root})
	require.NoError(t, err)
	info, err := source.Stat(t.Context())
	require.NoError(t, err)
	require.Equal(t, plugin.SourceInfo{}, info)
	require.Equal(t, filetest.Outcome{}, filetest.Collect(t, source, filetest.Large))
}
