// Package blank makes landscapes for tests. The schema takes a tenth of a second: it is made once in each process, and copied.
package blank

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"waymark/landscape/sqlitestore"
)

// file is that of a landscape in which nothing is recorded.
var file = sync.OnceValues(func() ([]byte, error) {
	return made(func(string) error { return nil })
})

// guards are what refuses changes in a schema.
const guards = "type = 'trigger' and sql like '%select raise(abort%'"

// tables is the file of a landscape that has tables and indexes, and neither guards nor views.
var tables = sync.OnceValues(func() ([]byte, error) { return made(without("type = 'view' or " + guards)) })

// unguarded is the file of a landscape that has no guards.
var unguarded = sync.OnceValues(func() ([]byte, error) { return made(without(guards)) })

// without returns what takes something out of the schema of a file.
func without(what string) func(path string) error {
	return func(path string) (err error) {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		db.SetMaxOpenConns(1)
		_, err = db.Exec("pragma writable_schema = 1; delete from sqlite_schema where " + what)
		return err
	}
}

// made returns the file of a new landscape that was changed.
func made(change func(path string) error) (content []byte, err error) {
	folder, err := os.MkdirTemp("", "blank")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "landscape.db")
	store, err := sqlitestore.Open(context.Background(), path, sqlitestore.Options{Create: true})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(store.Close(), change(path)); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// Open opens the landscape at path, and makes one if there is none.
func Open(ctx context.Context, path string) (*sqlitestore.Store, error) { return open(ctx, path, file) }

// Tables opens the landscape at path, and makes one if there is none: it has tables and indexes, and neither guards nor
// views. SQLite reads the whole schema for each connection; without these it takes a quarter of the time. It is for
// tests in which many stores are opened, and guards and views do nothing.
func Tables(ctx context.Context, path string) (*sqlitestore.Store, error) {
	return open(ctx, path, tables)
}

func open(ctx context.Context, path string, file func() ([]byte, error)) (*sqlitestore.Store, error) {
	if _, err := os.Stat(path); os.IsNotExist(err) {
		content, err := file()
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, err
		}
	}
	return sqlitestore.Open(ctx, path, sqlitestore.Options{Create: true})
}
