package embedded

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStartSaysItsInnermostCause: that the disk is full, or what else the database says, and not how a server is assembled.
func TestStartSaysItsInnermostCause(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	require.NoError(t, prepareDatabase(t.Context(), Options{DatabasePath: path}))
	for _, says := range []string{sqliteFull, "no such luck"} {
		db, err := openDatabase(path)
		require.NoError(t, err)
		_, err = db.Exec(`drop trigger if exists refuse`)
		require.NoError(t, err)
		_, err = db.Exec(`create trigger refuse before insert on cluster_metadata_info begin select raise(abort, '` + says + `'); end`)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		_, err = Start(t.Context(), Options{DatabasePath: path})
		if says == sqliteFull {
			require.EqualError(t, err, "the disk of "+filepath.Dir(path)+" is full: make space there, and do the same again")
			require.ErrorIs(t, err, syscall.ENOSPC)
			continue
		}
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "could not build arguments")
	}
}
