package pgstore_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/pgstore"
	"waymark/tests/services"
)

func TestMain(m *testing.M) { os.Exit(services.Main(m)) }

// create returns a new landscape and the database that it is in.
func create(t testing.TB) (*pgstore.Store, *services.Database) {
	t.Helper()
	db := services.Postgres(t)
	_, _, err := pgstore.Migrate(t.Context(), db.DSN())
	require.NoError(t, err)
	return open(t, db.DSN()), db
}

// open opens a landscape until the end of the test.
func open(t testing.TB, url string) *pgstore.Store {
	t.Helper()
	store, err := pgstore.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func TestDriver(t *testing.T) {
	landscapetest.Run(t, func(t *testing.T) landscape.Driver {
		store, _ := create(t)
		return store
	})
}
