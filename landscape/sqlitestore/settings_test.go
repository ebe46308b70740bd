package sqlitestore

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSettings holds what durability and integrity hang on.
func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "landscape.db")
	for range 2 {
		store, err := Open(t.Context(), path, Options{Create: true})
		require.NoError(t, err)
		for pragma, want := range map[string]string{
			"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "recursive_triggers": "1", "busy_timeout": "0",
			"page_size": "8192", "wal_autocheckpoint": "8192", "integrity_check": "ok", "application_id": "1466005869",
			"temp_store": "2",
		} {
			var got string
			require.NoError(t, store.write.QueryRow("pragma "+pragma).Scan(&got))
			require.Equal(t, want, got, pragma)
		}
		_, err = store.read.Exec(`insert into heals values ('', 1, '', '')`)
		require.ErrorContains(t, err, "readonly")
		require.NoError(t, store.Close())
	}
}
