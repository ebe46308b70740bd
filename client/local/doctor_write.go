package local

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"waymark/internal/sqlitefile"
	"waymark/worker/storage"
)

// unwritable returns the first of what a run writes to that is there and cannot be written, and why. Nothing is changed.
func (d doctor) unwritable(ctx context.Context) (path string, err error) {
	databases, folders := []string{d.State.Temporal()}, []string(nil)
	if path, err := storage.LandscapePath(d.Landscape); err == nil { // a service is asked where the record is looked at
		databases = append([]string{path}, databases...)
	}
	if path, err := storage.PayloadsPath(d.Payloads); err == nil {
		folders = []string{path, filepath.Join(path, "objects")}
	}
	for _, database := range databases {
		if err := tryDatabase(ctx, database); err != nil {
			return database, err
		}
	}
	for _, folder := range folders {
		if err := tryFolder(folder); err != nil {
			return folder, err
		}
	}
	return "", nil
}

// tryDatabase begins to write and takes it back. A database that somebody writes to right now is writable, and whether
// the file is a database at all is for others to say.
func tryDatabase(ctx context.Context, path string) error {
	if !exists(path) {
		return nil
	}
	uri, err := sqlitefile.URI(path, url.Values{"mode": {"rw"}, "_txlock": {"immediate"}})
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", uri)
	if err != nil {
		return err
	}
	defer db.Close()
	err = tryTable(ctx, db)
	if fault, ok := errors.AsType[*driver.Error](err); ok {
		switch fault.Code() & 0xff {
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
			return err
		}
		return nil
	}
	return err
}

// tryTable makes a table and takes that back. Only that tells a database that can be read from one that can be written.
func tryTable(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "create table waymark_doctor (probe)")
	return errors.Join(err, tx.Rollback())
}

// whyUnwritable says what an error of unwritable means.
func whyUnwritable(err error) string {
	if readOnly(err) {
		return "is read-only"
	}
	return "cannot be written"
}

// readOnly reports whether an error says that this process may not write what it has to.
func readOnly(err error) bool {
	fault, ok := errors.AsType[*driver.Error](err)
	return ok && fault.Code()&0xff == sqlite3.SQLITE_READONLY || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// tryFolder makes a file and removes it.
func tryFolder(path string) error {
	if !exists(path) {
		return nil
	}
	probe, err := os.CreateTemp(path, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
