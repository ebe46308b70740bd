package embedded

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
)

// FullError says that a server has no space for its database.
type FullError struct{ Folder string }

// Error names the folder, and says what helps.
func (e *FullError) Error() string {
	return fmt.Sprintf("the disk of %s is full: make space there, and do the same again", e.Folder)
}

// Is makes it an error of a full disk.
func (*FullError) Is(target error) bool { return target == syscall.ENOSPC }

// spareBytes is the space without which SQLite cannot make its index of the write-ahead log longer.
const spareBytes = 64 << 10

// sqliteFull is what SQLite says of a full disk. Temporal hands on no more of its errors than their texts.
const sqliteFull = "database or disk is full"

// isFull reports whether a server on the database failed because its disk is full. SQLite keeps the reason of many
// input and output errors to itself.
func isFull(path string, err error) bool {
	if errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), sqliteFull) {
		return true
	}
	var disk syscall.Statfs_t
	return syscall.Statfs(filepath.Dir(path), &disk) == nil && disk.Bavail*uint64(disk.Bsize) < spareBytes //nolint:gosec // a block size is no negative number
}

// innermost returns what an error comes of: those who assemble the server put paragraphs about its parts before it.
func innermost(err error) error {
	for err != nil {
		next := errors.Unwrap(err)
		if next == nil {
			break
		}
		err = next
	}
	return err
}
