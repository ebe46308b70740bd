// Package smalldisk mounts file systems that are soon full.
package smalldisk

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Mount mounts a new file system of the given size until the test ends, and returns its folder. Without the right to
// mount, the test is skipped, and fails in CI.
func Mount(t testing.TB, bytes int) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "small")
	MountAt(t, folder, bytes)
	return folder
}

// MountAt is Mount for a folder that does not exist yet.
func MountAt(t testing.TB, folder string, bytes int) {
	t.Helper()
	require.NoError(t, os.Mkdir(folder, 0o700))
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", bytes)); err != nil {
		require.Empty(t, os.Getenv("CI"), "CI must be able to mount a small file system: %v", err)
		t.Skipf("mounting a small file system needs root: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(folder, 0)) })
}
