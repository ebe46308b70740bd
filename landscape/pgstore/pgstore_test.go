package pgstore_test

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/pgstore"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/services/pg"
)

func TestMain(m *testing.M) { os.Exit(services.Main(m)) }

// create returns a new landscape and the database that it is in. Its owner also owns others.
func create(t testing.TB) (*pgstore.Store, *pg.Database) {
	t.Helper()
	db := pg.Like(t, "landscape", func(dsn string) error {
		_, _, err := pgstore.Migrate(t.Context(), dsn)
		return err
	})
	return open(t, db.DSN()), db
}

// createOwned returns a database with a landscape, whose owner owns no other.
func createOwned(t testing.TB) *pg.Database {
	t.Helper()
	db := pg.New(t)
	_, _, err := pgstore.Migrate(t.Context(), db.DSN())
	require.NoError(t, err)
	return db
}

// open opens a landscape until the end of the test.
func open(t testing.TB, url string) *pgstore.Store {
	t.Helper()
	store, err := pgstore.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// connect connects to a database until the end of the test; names mean what is in the schema waymark.
func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), `set search_path = waymark, pg_temp; set jit = off`)
	require.NoError(t, err)
	return conn
}

// TestDriver leaves what does not depend on the words of SQL to the nights: sqlitestore has it all by day.
func TestDriver(t *testing.T) {
	run := landscapetest.RunContract
	if sample.All() {
		run = landscapetest.Run
	}
	run(t, func(t *testing.T) landscape.Driver {
		store, _ := create(t)
		return store
	})
}
