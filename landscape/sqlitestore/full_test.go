package sqlitestore_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
)

// small mounts a file system of this size.
func small(t *testing.T, size string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	require.NoError(t, os.Mkdir(dir, 0o700))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=700"); err != nil {
		require.Empty(t, os.Getenv("CI"), "CI must be able to mount a small file system: %v", err)
		t.Skipf("mounting a small file system needs root: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// TestFullDisk fills the disk with records of many sizes until nothing goes in any more, makes space, and continues: what was
// confirmed is there, what was refused is not, and nothing is in the way of what comes after.
func TestFullDisk(t *testing.T) {
	dir := small(t, "6m")
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
