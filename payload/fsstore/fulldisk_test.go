package fsstore_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/tests/sample"
	"waymark/tests/smalldisk"
)

// TestFullDisk fills a file system of 1 MiB with objects of every size that is a multiple of a page, by day of some.
func TestFullDisk(t *testing.T) {
	dir := smalldisk.Mount(t, 1<<20)
	s, err := fsstore.Open(dir)
	require.NoError(t, err)
	defer s.Close()
	store := payload.New(s, payload.Options{})
	small, err := store.Put(t.Context(), []byte("was there before"))
	require.NoError(t, err)

	for size := 4096; size <= 2<<20; size += sample.Step(5) * 4096 {
		data := make([]byte, size)
		d, err := store.Put(t.Context(), data)
		if err == nil {
			require.NoError(t, store.Delete(t.Context(), d))
			continue
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
		found, err := store.Has(t.Context(), payload.Of(data))
		require.NoError(t, err)
		require.False(t, found)
		requireNoTemps(t, dir)
	}
	_, err = store.Put(t.Context(), make([]byte, 4<<20))
	require.ErrorIs(t, err, syscall.ENOSPC)
	_, err = store.Put(t.Context(), make([]byte, 100<<10))
	require.NoError(t, err, "space is back")
	_, err = store.Get(t.Context(), small)
	require.NoError(t, err)
}
