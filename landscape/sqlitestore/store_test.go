package sqlitestore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestALandscapeIsForItsOwner: the files of a new landscape are for its owner alone.
func TestALandscapeIsForItsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "landscape.db")
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{Create: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	log := landscape.New(store, time.Now)
	_, err = log.ChangeAccess(t.Context(), "1", func(*landscape.AccessToken) (landscape.AccessToken, error) {
		return landscape.AccessToken{
			Action: landscape.GrantAccess, Name: "ann", SHA256: strings.Repeat("0", 64), Roles: `["viewer"]`,
			Pipelines: "[]", Actor: "ann", Why: "a test",
		}, nil
	})
	require.NoError(t, err)
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
	}
}
