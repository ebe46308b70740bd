package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheDatabaseIsMadeAtItsPath, whatever the characters in it mean in a URI, and nothing is made elsewhere.
func TestTheDatabaseIsMadeAtItsPath(t *testing.T) {
	for _, name := range []string{"what?mode=ro", "#1", "%41 & 100%", "it's\na \"naïve\" name"} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.Mkdir(folder, 0o700))
			path := filepath.Join(folder, "temporal.db")
			require.NoError(t, prepareDatabase(t.Context(), Options{DatabasePath: path}))
			require.NoError(t, checkpoint(path))
			require.FileExists(t, path)
			require.False(t, damaged(path))
			beside, err := os.ReadDir(filepath.Dir(folder))
			require.NoError(t, err)
			require.Len(t, beside, 1)
		})
	}
}

// TestServersShareAHandle: what a server leaves behind when it stops does not add up.
func TestServersShareAHandle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	var left []int
	for range 3 {
		stopServer(t, startServer(t, Options{DatabasePath: path}))
		left = append(left, opened(t, path))
	}
	require.Equal(t, left[0], left[2], "%v", left)
	require.NoError(t, os.Remove(path))
	stopServer(t, startServer(t, Options{DatabasePath: path}))
	require.FileExists(t, path)
}

// opened returns how many descriptors the process has of files whose paths begin with this one. It may have others:
// connections of other tests end when they like.
func opened(t *testing.T, path string) (n int) {
	t.Helper()
	descriptors, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, descriptor := range descriptors {
		if file, err := os.Readlink(descriptor); err == nil && strings.HasPrefix(file, path) {
			n++
		}
	}
	return n
}

// TestExecutionsHaveFewIndexes checks which indexes of the list of executions are made: a newer Temporal may rename one that queries need.
func TestExecutionsHaveFewIndexes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	require.NoError(t, prepareDatabase(t.Context(), Options{DatabasePath: path}))
	db, err := openDatabase(path)
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "select name from sqlite_master where type = 'index' and tbl_name = 'executions_visibility' and sql is not null")
	require.NoError(t, err)
	defer rows.Close()
	var made []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		made = append(made, name)
	}
	require.NoError(t, rows.Err())
	require.ElementsMatch(t, listIndexes, made)
}

func TestPathTooLongForSQLite(t *testing.T) {
	folder := t.TempDir()
	for len(folder) < 500 {
		folder = filepath.Join(folder, strings.Repeat("d", 100))
	}
	require.NoError(t, os.MkdirAll(folder, 0o700))
	_, err := Start(t.Context(), Options{DatabasePath: filepath.Join(folder, "temporal.db")})
	require.ErrorContains(t, err, "choose a folder with a shorter path")
}
