package sqlitestore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// TestCheckpointsKeepTheLogShort writes much more than the log holds. SQLite itself would let it grow to 64 MiB, and then
// have a transaction wait until all of it is in the file.
func TestCheckpointsKeepTheLogShort(t *testing.T) {
	const every = 1 << 20
	path := filepath.Join(t.TempDir(), "landscape.db")
	store, err := Open(t.Context(), path, Options{Create: true})
	require.NoError(t, err)
	store.checkpoints.every = every
	for i := range 10 {
		heal := landscape.Heal{Digest: fmt.Sprintf("%064d", i), At: 1, Reason: strings.Repeat("x", every), SetAside: "x"}
		require.NoError(t, store.Commit(t.Context(), landscape.Tx{Insert: []landscape.Record{heal}}))
		store.checkpoints.running.Wait()
	}
	log, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	require.Less(t, log.Size(), int64(3*every))
	require.NoError(t, store.Close())
}
