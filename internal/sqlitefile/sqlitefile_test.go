package sqlitefile

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"
)

// oddNames are names of files that mean something in a URI, in a shell or in a list of parameters.
var oddNames = []string{
	"plain", "what?mode=ro", "#1", "100%", "%41", "%2e%2e%2fup", "a b", "a&b=c", `it's "quoted"`, "naïve-日本", "new\nline", "semi;colon", "+", "C:x", "*",
}

// TestSQLiteOpensTheFileThatThePathNames, and makes no other.
func TestSQLiteOpensTheFileThatThePathNames(t *testing.T) {
	for _, name := range oddNames {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.Mkdir(folder, 0o700))
			makeDatabase(t, filepath.Join(folder, name))
			require.Equal(t, []string{name}, names(t, folder))
			require.Equal(t, []string{name}, names(t, filepath.Dir(folder)))
		})
	}
}

func TestARelativePathIsThatOfTheWorkingFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	makeDatabase(t, "a%41.db")
	require.Equal(t, []string{"a%41.db"}, names(t, "."))
}

// TestLength holds the limit against SQLite itself: the longest path that is let through opens, with its journal.
func TestLength(t *testing.T) {
	longest := ofLength(t, t.TempDir(), MaxPathBytes)
	makeDatabase(t, longest)

	tooLong := ofLength(t, t.TempDir(), MaxPathBytes+1)
	_, err := URI(tooLong, nil)
	require.ErrorContains(t, err, "the path is 505 bytes long, and SQLite takes at most 504: choose a folder with a shorter path")
	db, err := sql.Open("sqlite", "file:"+tooLong)
	require.NoError(t, err)
	defer db.Close()
	require.ErrorContains(t, db.Ping(), "unable to open database file", "the limit is SQLite's")
}

// TestLinksAreFollowedBeforeTheLengthIsTaken, as SQLite follows them.
func TestLinksAreFollowedBeforeTheLengthIsTaken(t *testing.T) {
	long := ofLength(t, t.TempDir(), MaxPathBytes+1)
	short := filepath.Join(t.TempDir(), "short")
	require.NoError(t, os.Symlink(filepath.Dir(long), short))
	_, err := Path(filepath.Join(short, filepath.Base(long)))
	require.ErrorContains(t, err, "SQLite takes at most")
}

// makeDatabase makes a database with one table at path.
func makeDatabase(t *testing.T, path string) {
	t.Helper()
	uri, err := URI(path, url.Values{"mode": {"rwc"}})
	require.NoError(t, err)
	db, err := sql.Open("sqlite", uri)
	require.NoError(t, err)
	_, err = db.Exec("create table t (x)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.FileExists(t, path)
}

// ofLength returns the path of a file that is not there, of this length, in folders that are.
func ofLength(t *testing.T, folder string, length int) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(folder)
	require.NoError(t, err)
	for length-len(folder) > 120 {
		folder = filepath.Join(folder, strings.Repeat("d", 100))
	}
	require.NoError(t, os.MkdirAll(folder, 0o700))
	return filepath.Join(folder, strings.Repeat("f", length-len(folder)-1))
}

func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}
