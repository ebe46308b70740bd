package sqlitefile

import (
	"path/filepath"
	"syscall"
)

// spareBytes is the space without which SQLite cannot make its index of the write-ahead log longer.
const spareBytes = 64 << 10

// Full reports whether the file system of the database at path has no space to write. SQLite keeps the reason of many
// input and output errors to itself.
func Full(path string) bool {
	var disk syscall.Statfs_t
	err := syscall.Statfs(filepath.Dir(path), &disk)
	return err == nil &&
		(disk.Bavail*uint64(disk.Bsize) < spareBytes || disk.Files > 0 && disk.Ffree == 0) //nolint:gosec // a block size is no negative number
}
