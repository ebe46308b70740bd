package sqlitestore_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape/sqlitestore"
)

// originals are landscapes that several tests begin with, by name: to play their runs takes longer than to copy a file.
var originals = struct {
	sync.Mutex
	files map[string][]byte
}{files: map[string][]byte{}}

// copied returns the path of a copy of the landscape with this name, which play fills when a test first asks for it. No
// process has it open.
func copied(t *testing.T, name string, play func(*testing.T, *sqlitestore.Store)) string {
	t.Helper()
	return copiedWith(t, name, play, func(*testing.T, string) {})
}

// unguarded is copied, without any trigger: whoever owns the file can take them away.
func unguarded(t *testing.T, name string, play func(*testing.T, *sqlitestore.Store)) string {
	t.Helper()
	return copiedWith(t, name, play, removeGuards)
}

func copiedWith(
	t *testing.T, name string, play func(*testing.T, *sqlitestore.Store), then func(t *testing.T, path string),
) string {
	t.Helper()
	originals.Lock()
	defer originals.Unlock()
	if originals.files[name] == nil {
		store, path := create(t)
		play(t, store)
		require.NoError(t, store.Close())
		then(t, path)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		originals.files[name] = content
	}
	path := filepath.Join(t.TempDir(), "landscape.db")
	require.NoError(t, os.WriteFile(path, originals.files[name], 0o600))
	return path
}

// removeGuards takes all triggers out of the schema at once. Dropping them one by one takes longer than what is done
// without them.
func removeGuards(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`pragma writable_schema = 1; delete from sqlite_schema where type = 'trigger';
		pragma writable_schema = reset`)
	require.NoError(t, err)
}

// reopened opens a landscape until the end of the test.
func reopened(t *testing.T, path string) *sqlitestore.Store {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{Create: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}
