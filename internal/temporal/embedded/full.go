package embedded

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"waymark/internal/sqlitefile"
)

// FullError says that a server has no space for its database.
type FullError struct{ Folder string }

// Error names the folder, and says what helps.
func (e *FullError) Error() string {
	return fmt.Sprintf("the disk of %s is full: make space there, and do the same again", e.Folder)
}

// Is makes it an error of a full disk.
func (*FullError) Is(target error) bool { return target == syscall.ENOSPC }

// sqliteFull is what SQLite says of a full disk. Temporal hands on no more of its errors than their texts.
const sqliteFull = "database or disk is full"

// isFull reports whether a server on the database failed because its disk is full.
func isFull(path string, err error) bool {
	return errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), sqliteFull) || sqlitefile.Full(path)
}

// innermost returns what an error comes of: those who assemble the server put paragraphs about its parts before it.
func innermost(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}
