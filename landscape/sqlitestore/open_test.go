package sqlitestore_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
)

func TestOpenNeverCreatesUnasked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "landscape.db")
	_, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
	require.ErrorIs(t, err, landscape.ErrNotFound)
	require.ErrorContains(t, err, path)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"a folder": {func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o755)) }, "not a regular file"},
		"no log beside it": {func(t *testing.T, path string) {
			store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{Create: true})
			require.NoError(t, err)
			require.NoError(t, store.Close())
			require.NoError(t, os.Mkdir(path+"-wal", 0o700))
		}, "let this user read and write these files, and their folder, and let the process have more files open (ulimit -n): unable to open database file"},
		"text":             {func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, []byte("a,b\n1,2\n"), 0o644)) }, "not a SQLite file"},
		"another database": {func(t *testing.T, path string) { execute(t, path, `create table orders (id integer)`) }, "not a Waymark landscape"},
		"a newer schema": {func(t *testing.T, path string) {
			store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{Create: true})
			require.NoError(t, err)
			require.NoError(t, store.Close())
			execute(t, path, `insert into schema_versions (version, sha256) values (2, '`+strings.Repeat("0", 64)+`')`)
		}, "use a newer Waymark"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "landscape.db")
			c.make(t, path)
			before, _ := os.ReadFile(path)
			for _, create := range []bool{false, true} {
				_, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{Create: create})
				require.ErrorContains(t, err, c.want)
			}
			after, _ := os.ReadFile(path)
			require.True(t, bytes.Equal(before, after), "the file stays as it is")
		})
	}
}

func execute(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.Exec(query)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

func TestOpenTakesAnyName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?mode=memory#%41&ü.db")
	for _, create := range []bool{true, false} {
		store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{Create: create})
		require.NoError(t, err)
		require.NoError(t, store.Close())
	}
	require.FileExists(t, path)
}

// TestManyCreate lets stores of one new file race to create it, and then to record one run.
func TestManyCreate(t *testing.T) {
	const stores = 4
	path := filepath.Join(t.TempDir(), "landscape.db")
	scene := landscapetest.Scene{Run: "many", Chunks: 2, ChunkRows: 10}
	errs := make([]error, stores)
	var group sync.WaitGroup
	for i := range stores {
		group.Go(func() { errs[i] = record(t.Context(), path, scene) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

func record(ctx context.Context, path string, scene landscapetest.Scene) error {
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Create: true})
	if err != nil {
		return err
	}
	defer store.Close()
	log := landscape.New(store, nil)
	if err := scene.Begin(ctx, log); err != nil {
		return err
	}
	return scene.Read(ctx, log)
}
