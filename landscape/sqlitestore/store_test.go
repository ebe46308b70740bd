package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/tests/blank"
)

// create returns a new landscape and its path.
func create(t *testing.T) (*sqlitestore.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "landscape.db")
	store, err := blank.Open(t.Context(), path)
	require.NoError(t, err)
	return store, path
}

func TestDriver(t *testing.T) {
	landscapetest.Run(t, func(t *testing.T) landscape.Driver {
		store, _ := create(t)
		return store
	})
}
