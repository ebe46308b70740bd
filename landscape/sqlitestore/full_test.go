package sqlitestore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/tests/smalldisk"
)

// TestFullDisk fills the disk with records of many sizes until nothing goes in any more, makes space, and continues: what was
// confirmed is there, what was refused is not, and nothing is in the way of what comes after.
func TestFullDisk(t *testing.T) {
	dir := smalldisk.Mount(t, 6<<20)
	ballast := filepath.Join(dir, "ballast")
	require.NoError(t, os.WriteFile(ballast, make([]byte, 2<<20), 0o600))
	store, err := sqlitestore.Open(t.Context(), filepath.Join(dir, "landscape.db"), sqlitestore.Options{Create: true})
	require.NoError(t, err)
	log := landscape.New(store, nil)
	require.NoError(t, landscapetest.Scene{Run: "r"}.Begin(t.Context(), log))
	var kept []string
	refused := 0
	record := func(text string) error {
		err := log.RecordEvent(t.Context(), "r", "filled", text)
		if err == nil {
			kept = append(kept, text)
		}
		return err
	}
	for i := 0; refused < 60; i++ { // of all sizes: the last pages are for the smallest
		if err := record(strings.Repeat("x", 300_000>>(i%9))); err != nil {
			require.ErrorIs(t, err, landscape.ErrFull)
			refused++
		}
	}
	require.Greater(t, len(kept), 10)
	require.NoError(t, os.Remove(ballast))
	require.NoError(t, record("space is back"))
	require.NoError(t, store.Close())

	store, err = sqlitestore.Open(t.Context(), filepath.Join(dir, "landscape.db"), sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	events, err := landscape.Select[landscape.RunEvent](t.Context(), store, "r")
	require.NoError(t, err)
	require.Len(t, events, len(kept))
	for i, event := range events {
		require.Equal(t, kept[i], event.Detail)
	}
}
