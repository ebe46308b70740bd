package file

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/plugintest"
)

// TestPlaceNames: a name that would do harm later is rejected before anything is written.
func TestPlaceNames(t *testing.T) {
	root, err := NewRoot(t.TempDir())
	require.NoError(t, err)
	defer root.Close()
	for name, path := range map[string]string{
		"BI-149 parent":          "../out.csv",
		"BI-149 parent inside":   "a/../../out.csv",
		"BI-150 absolute":        "/etc/out.csv",
		"BI-154 proc":            "/proc/self/environ",
		"BI-155 NUL":             "a\x00b.csv",
		"BI-155 too long":        strings.Repeat("x", 201),
		"BI-155 newline":         "a\nb.csv",
		"BI-155 option":          "-rf",
		"BI-155 option folder":   "-rf/out.csv",
		"BI-122 escape":          "\x1b[2J.csv",
		"BI-115 right to left":   "a\u202efdp.csv",
		"backslash":              `..\out.csv`,
		"invalid UTF-8":          "a\xff.csv",
		"hidden":                 ".out.csv",
		"state folder":           ".waymark/landscape.db",
		"empty":                  "",
		"the document's folder":  ".",
		"the folder with a dash": "./",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newLocation(root, pipeline.FileTarget{Path: path})
			var refused *DeniedError
			require.ErrorAs(t, err, &refused)
		})
	}
	for _, path := range []string{"out.csv", "a/b/out.csv", "naïve 2001-01-31 (1).csv", "鳥.csv", "a..b.csv", "x.-y"} {
		_, err := newLocation(root, pipeline.FileTarget{Path: path})
		require.NoError(t, err)
	}
}

// TestExclusive: a place has one name, by whatever way a path leads there.
func TestExclusive(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(real, link))
	for _, c := range []struct{ folder, path, beside, want string }{
		{real, "out/a.csv", "", "out/a.csv"},
		{link, "./out//a.csv", "", "out/a.csv"},
		{link, filepath.Join(link, "out/a.csv"), "", "out/a.csv"},
		{real, "out/a", "", "out/a"},
		{real, "out/a.csv", "retry-1", "out/a.retry-1.csv"},
	} {
		root, err := NewRoot(c.folder)
		require.NoError(t, err)
		defer root.Close()
		access := Access{Root: root, Beside: c.beside}
		for _, parts := range []bool{false, true} {
			place, err := access.Destination("out", ".csv", pipeline.FileTarget{Path: c.path, Parts: parts})
			require.NoError(t, err)
			require.Equal(t, filepath.Join(real, c.want), place.Exclusive())
		}
	}
	place, err := Access{Stdio: Stdio{Folder: real}}.Destination("out", ".csv", pipeline.FileTarget{Path: pipeline.Stdio})
	require.NoError(t, err)
	require.Empty(t, place.Exclusive(), "each run has a standard output of its own")
}

// TestPlaceRefuses: what is under the final name and is not an output of this sort is never touched, overwrite or not.
func TestPlaceRefuses(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	writeFile(t, outside, "keep")
	plants := map[string]func(t *testing.T, name string){
		"BI-151 link to a file": func(t *testing.T, name string) { require.NoError(t, os.Symlink(outside, name)) },
		"dangling link":         func(t *testing.T, name string) { require.NoError(t, os.Symlink("nowhere", name)) },
		"BI-152 link to a folder": func(t *testing.T, name string) {
			require.NoError(t, os.Symlink(filepath.Dir(outside), name))
		},
		"BI-154 FIFO":   func(t *testing.T, name string) { require.NoError(t, syscall.Mkfifo(name, 0o644)) },
		"BI-154 socket": plantSocket,
	}
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			eachFormat(t, func(t *testing.T, newPlace func(t testing.TB) sinkDestination) {
				p := newPlace(t)
				require.NoError(t, os.Mkdir(filepath.Dir(p.final()), 0o755))
				plant(t, p.final())
				requireRefused(t, p)
				require.FileExists(t, outside)
			})
		})
	}
	t.Run("BI-154 folder for a file", func(t *testing.T) {
		p := newSinkPlace(t, "csv", false)
		require.NoError(t, os.MkdirAll(p.final(), 0o755))
		requireRefused(t, p)
	})
	t.Run("file for a folder", func(t *testing.T) {
		p := newSinkPlace(t, "csv", true)
		writeFile(t, p.final(), "keep")
		requireRefused(t, p)
	})
}

func plantSocket(t *testing.T, name string) {
	t.Chdir(filepath.Dir(name))
	listener, err := net.Listen("unix", filepath.Base(name))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
}

// requireRefused requires that Open fails, and Publish as well if the plant comes after Open, and that the plant stays.
func requireRefused(t *testing.T, p sinkDestination) {
	t.Helper()
	before, err := os.Lstat(p.final())
	require.NoError(t, err)
	for _, overwrite := range []bool{false, true} {
		requireNotOpened(t, p.target("one", overwrite), []byte(p.header()))
	}
	aside := p.final() + ".aside"
	require.NoError(t, os.Rename(p.final(), aside))
	output := plugintest.NewOutput(p.header(), "a\n")
	target := p.target("one", true)
	output.Write(t, target)
	require.NoError(t, os.Rename(aside, p.final()))
	_, err = target.Publish(t.Context(), output.Header, output.Parts)
	plugintest.RequireCode(t, codeTargetRefused, err)
	after, err := os.Lstat(p.final())
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))
}

// requireNotOpened requires that Open rejects the place and makes nothing.
func requireNotOpened(t *testing.T, target plugin.Target, header []byte) {
	t.Helper()
	made, err := target.Open(t.Context(), header)
	plugintest.RequireCode(t, codeTargetRefused, err)
	require.False(t, made)
}

// TestPlaceFolders: missing folders are made (BI-159); a way through a link or a file is rejected (BI-152).
func TestPlaceFolders(t *testing.T) {
	p := newSinkPlace(t, "csv", false)
	_, err := p.target("one", false).Open(t.Context(), nil)
	require.NoError(t, err)
	info, err := os.Stat(filepath.Dir(p.final()))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm()|0o055)

	p = newSinkPlace(t, "csv", false)
	require.NoError(t, os.Mkdir(filepath.Join(p.dir, "real"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(p.dir, "out")))
	requireNotOpened(t, p.target("one", false), nil)

	p = newSinkPlace(t, "csv", false)
	writeFile(t, filepath.Join(p.dir, "out"), "a file")
	requireNotOpened(t, p.target("one", false), nil)
}

// TestPlaceStagingPlants: something other than a file under the staging's name is rejected and not followed.
func TestPlaceStagingPlants(t *testing.T) {
	p := newSinkPlace(t, "csv", false)
	victim := filepath.Join(p.dir, "victim")
	writeFile(t, victim, "keep")
	require.NoError(t, os.Mkdir(filepath.Dir(p.final()), 0o755))
	require.NoError(t, os.Symlink("../victim", p.staging("one")))
	requireNotOpened(t, p.target("one", false), []byte("k\n"))
	require.NoError(t, syscall.Mkfifo(p.staging("two"), 0o644))
	requireNotOpened(t, p.target("two", false), []byte("k\n"))
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "keep", string(text))
}

// TestLocation: people find the output under it.
func TestLocation(t *testing.T) {
	p := newSinkPlace(t, "csv", false)
	require.Equal(t, p.final(), p.sink(false).Location())
	output := plugintest.NewOutput("k\n", "a\n")
	target := p.target("one", false)
	output.Write(t, target)
	artifact, err := target.Publish(t.Context(), output.Header, output.Parts)
	require.NoError(t, err)
	require.Equal(t, p.final(), artifact.Path)
}
