// Package sqlitestore keeps a landscape in one SQLite file. It needs no cgo.
//
// The file is meant to be read by others while runs are going: `sqlite3 landscape.db` and the views of docs/landscape.md.
package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"waymark/landscape"
)

// applicationID marks a SQLite file as a landscape: "Waym". Stored; never change it.
const applicationID = 0x5761796d

const readers = 4

// pageBytes is the page size of a new file. Measured with chunks of 32,768 rows, whose columns are blobs of 1 MiB: see
// BenchmarkPageSize.
const pageBytes = 16_384

// Options of a Store.
type Options struct {
	// Create allows Open to make a landscape where there is none. The folder must exist.
	Create bool
}

// Store is a landscape.Driver over one SQLite file: one connection writes, several read. Other processes may have the same file
// open; a writer waits for another up to ten seconds.
type Store struct {
	write *sql.DB
	read  *sql.DB
}

var _ landscape.Driver = (*Store)(nil)

// Open opens the landscape at path and brings its schema up to date.
//
// The error wraps landscape.ErrNotFound if there is no file and opts.Create is not set: nothing is created then. A
// file that is not a landscape, or was written by a newer version of the program, is refused and left as it is.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	fresh, err := inspect(path)
	if err != nil {
		return nil, err
	}
	if fresh && !opts.Create {
		return nil, fmt.Errorf("landscape %s: no such file: %w", path, landscape.ErrNotFound)
	}
	return open(ctx, path, fresh, pageBytes)
}

// inspect reports whether there is nothing at path yet, and refuses what cannot be a landscape.
func inspect(path string) (fresh bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("landscape: %w", err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("landscape %s: not a regular file", path)
	}
	return info.Size() == 0, nil
}

func open(ctx context.Context, path string, fresh bool, page int) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("landscape: %w", err)
	}
	s := &Store{}
	if s.write, err = connect(path, fresh, fmt.Sprintf("page_size(%d)", page), "journal_mode(wal)", "synchronous(full)",
		fmt.Sprintf("wal_autocheckpoint(%d)", walBytes/page)); err != nil {
		return nil, err
	}
	s.write.SetMaxOpenConns(1)
	if err := migrate(ctx, s.write, path, fresh); err != nil {
		return nil, errors.Join(err, s.write.Close())
	}
	if s.read, err = connect(path, false, "query_only(1)"); err != nil {
		return nil, errors.Join(err, s.write.Close())
	}
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	return s, nil
}

// walBytes is how long the write-ahead log may grow before its pages go into the file.
const walBytes = 64 << 20

// connect returns a pool whose connections have these pragmas. Without create, a file that is not there is an error.
func connect(path string, create bool, pragmas ...string) (*sql.DB, error) {
	mode := "rw"
	if create {
		mode = "rwc"
	}
	query := url.Values{"mode": {mode}, "_txlock": {"immediate"}}
	query["_pragma"] = append([]string{"busy_timeout(10000)", "foreign_keys(1)", "recursive_triggers(1)"}, pragmas...)
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+query.Encode())
	if err != nil {
		return nil, fmt.Errorf("landscape %s: %w", path, err)
	}
	return db, nil
}

// Close closes all connections. The last one to close moves the write-ahead log into the file.
func (s *Store) Close() error {
	return errors.Join(s.read.Close(), s.write.Close())
}
