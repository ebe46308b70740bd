package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
	"waymark/tests/smalldisk"
)

// TestAFullDiskIsNobodysMistake opens a state folder on a disk that is full, or has too little space, to begin a run and
// then to look at it: the error says that space is missing, and is of a kind that may pass.
func TestAFullDiskIsNobodysMistake(t *testing.T) {
	disk := smalldisk.Mount(t, 16<<20)
	ballast := filepath.Join(disk, "ballast")
	leave := func(free uint64) {
		t.Helper()
		require.NoError(t, os.RemoveAll(ballast))
		var is syscall.Statfs_t
		require.NoError(t, syscall.Statfs(disk, &is))
		require.NoError(t, os.WriteFile(ballast, make([]byte, is.Bavail*uint64(is.Bsize)-free), 0o600))
	}
	open := func(existing bool) error {
		home, err := local.Open(t.Context(), local.Options{
			State: local.Folder(filepath.Join(disk, "state")), Actor: "ann", Existing: existing,
		})
		if err == nil {
			err = home.Close()
		}
		return err
	}
	refused := func(existing bool, free uint64, says string) {
		t.Helper()
		leave(free)
		err := open(existing)
		refused, ok := errors.AsType[*client.Error](err)
		require.True(t, ok, err)
		require.Equal(t, client.Unavailable, refused.Kind, err)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "\n")
	}
	refused(false, 0, "no space left on device")
	refused(false, 64<<10, "no space left for the record: make space in its folder")
	require.NoError(t, os.RemoveAll(ballast))
	require.NoError(t, open(false))
	for _, existing := range []bool{false, true} {
		refused(existing, 0, "no space left for the record: make space in its folder")
	}
}
