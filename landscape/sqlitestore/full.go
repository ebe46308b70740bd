package sqlitestore

import (
	"fmt"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"

	"waymark/landscape"
)

// spareBytes is the space without which SQLite cannot make its index of the write-ahead log longer.
const spareBytes = 64 << 10

func noSpace(path string, err *sqlite.Error) error {
	return fmt.Errorf("landscape %s: %w: make space in its folder: %w", path, landscape.ErrFull, err)
}

// isFull reports whether the file system of path has no space to write. SQLite keeps the reason of many input and output
// errors to itself.
func isFull(path string) bool {
	var disk syscall.Statfs_t
	err := syscall.Statfs(filepath.Dir(path), &disk)
	return err == nil && (disk.Bavail*uint64(disk.Bsize) < spareBytes || disk.Files > 0 && disk.Ffree == 0) //nolint:gosec // a block size is no negative number
}
