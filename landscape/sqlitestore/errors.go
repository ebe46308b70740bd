package sqlitestore

import (
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"waymark/internal/sqlitefile"
	"waymark/landscape"
)

// primary is the part of a result code of SQLite that all its variants share.
const primary = 0xff

// isConstraint reports whether a constraint or a guard refused a statement.
func isConstraint(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&primary == sqlite3.SQLITE_CONSTRAINT
}

// isBusy reports whether another connection was in the way of a statement.
func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&primary == sqlite3.SQLITE_BUSY
}

// explain says what cures an error that no retry does, a file that cannot be written or one that is damaged, and which error is
// cured by space. It returns every other error as it is.
func explain(path string, err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	if e.Code() == sqlite3.SQLITE_READONLY_DIRECTORY {
		return fmt.Errorf("landscape %s: %w: SQLite writes beside a file even to read it: make its folder writable, or copy the whole state folder "+
			"and read the copy (--state): %w", path, landscape.ErrReadOnly, e)
	}
	switch e.Code() & primary {
	case sqlite3.SQLITE_CONSTRAINT:
		return guarded(err)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("landscape %s: %w: another process has been writing for more than %s: try again: %w", path, landscape.ErrAway, busyTimeout, e)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("landscape %s: %w: make the file, those of its name with -wal and -shm, and its folder writable: "+
			"%w", path, landscape.ErrReadOnly, e)
	case sqlite3.SQLITE_FULL:
		return noSpace(path, e)
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		if sqlitefile.Full(path) {
			return noSpace(path, e)
		}
		if e.Code()&primary == sqlite3.SQLITE_CANTOPEN {
			return fmt.Errorf("landscape %s: it, or a file of its name with -wal or -shm, cannot be opened: let this user read and write these files, and their folder, "+
				"and let the process have more files open (ulimit -n): %w", path, e)
		}
		return err
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("landscape %s: the file is damaged: restore it from a copy, or start with another --state: %w", path, e)
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("landscape %s: not a SQLite file, or a damaged one: restore it from a copy, or start with another --state: %w", path, e)
	default:
		return err
	}
}

// guarded returns the error of a guard that callers ask for; others as they are.
func guarded(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "payload purged:"):
		return fmt.Errorf("%w: %w", landscape.ErrPurged, err)
	case strings.Contains(text, "payload in use:"):
		return fmt.Errorf("%w: %w", landscape.ErrInUse, err)
	}
	return err
}
