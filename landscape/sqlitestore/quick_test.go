package sqlitestore_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/sqlitestore"
)

func TestQuickCheck(t *testing.T) {
	path := attacked(t)
	found, err := sqlitestore.QuickCheck(t.Context(), path, time.Minute)
	require.NoError(t, err)
	require.Greater(t, found.Tables, len(landscape.Tables()), "those of SQLite and of the migrations as well")
	require.Zero(t, found.Left)
	require.Nil(t, found.Damaged)

	late, err := sqlitestore.QuickCheck(t.Context(), path, 0)
	require.NoError(t, err)
	require.Equal(t, sqlitestore.Quick{Left: found.Tables}, late, "no time is left for any")

	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = sqlitestore.QuickCheck(ctx, path, time.Minute)
	require.ErrorIs(t, err, context.Canceled)

	overwritePage(t, path, "passages")
	found, err = sqlitestore.QuickCheck(t.Context(), path, time.Minute)
	require.NoError(t, err)
	require.Len(t, found.Damaged, 1)
	require.Equal(t, "passages", found.Damaged[0].Table)
	require.NotEmpty(t, found.Damaged[0].What)

	require.NoError(t, os.WriteFile(path, []byte("no database, however long this text may be"), 0o600))
	found, err = sqlitestore.QuickCheck(t.Context(), path, time.Minute)
	require.NoError(t, err)
	require.Equal(t, "sqlite_schema", found.Damaged[0].Table)
}

// overwritePage overwrites the first page of a table, as a failing disk does.
func overwritePage(t *testing.T, path, table string) {
	t.Helper()
	db := stranger(t, path, "")
	_, err := db.Exec(`pragma wal_checkpoint(truncate)`)
	require.NoError(t, err)
	var root, size int64
	require.NoError(t, db.QueryRow(`select rootpage, page_size from sqlite_schema, pragma_page_size where name = ?`, table).Scan(&root, &size))
	require.NoError(t, db.Close())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("this is no page of a database"), (root-1)*size)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
