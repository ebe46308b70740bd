package sqlitestore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schemaSQL makes at once what the migrations make one after the other, and notes that they were applied. A test writes it.
//
//go:embed schema.sql
var schemaSQL string

// identify reports whether the SQLite file at path is empty, and refuses one that something else made. It changes nothing.
func identify(ctx context.Context, path string) (fresh bool, err error) {
	db, err := connect(path, "ro", busyTimeout, integrity)
	if err != nil {
		return false, err
	}
	defer db.Close()
	var id, tables int64
	const query = `select application_id, (select count(*) from sqlite_schema where name not like 'goose%' and name not like 'sqlite%') from pragma_application_id`
	if err := db.QueryRowContext(ctx, query).Scan(&id, &tables); err != nil {
		return false, fmt.Errorf("landscape %s: cannot be read: %w", path, err)
	}
	if id == applicationID || id == 0 && tables == 0 {
		return id == 0, nil
	}
	return false, fmt.Errorf("landscape %s: a SQLite file, but not a Waymark landscape: give the path of another file", path)
}

// refuseOlder refuses a landscape whose schema is of another version than this program makes. One that does not say of which it is, is not
// refused: somebody changed it by hand.
func refuseOlder(ctx context.Context, path string) (err error) {
	db, err := connect(path, "rw", busyTimeout, integrity, "query_only(1)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var says bool
	if err := db.QueryRowContext(ctx, `select exists (select * from sqlite_schema where name = '`+versions+`')`).Scan(&says); err != nil || !says {
		return err
	}
	var current, known int64
	if err := db.QueryRowContext(ctx, `select coalesce(max(version_id), 0) from `+versions).Scan(&current); err != nil {
		return err
	}
	if known, err = latest(); err != nil {
		return err
	}
	switch {
	case current > known:
		return fmt.Errorf("landscape %s: its schema has version %d, this program knows versions up to %d: use a newer Waymark", path, current, known)
	case current < known:
		return fmt.Errorf("landscape %s: its schema has version %d, this program makes version %d: bring it up to date with `waymark landscape migrate`", path, current, known)
	}
	return nil
}

// latest returns the version of the schema that this program makes.
func latest() (int64, error) {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return 0, err
	}
	return goose.NumericComponent(files[len(files)-1].Name())
}

// migrate applies what the landscape at path lacks. Every migration is one transaction.
func migrate(ctx context.Context, path string) error {
	// With foreign keys on, SQLite empties a table before it drops it, and all that points there is in the way.
	db, err := connect(path, "rw", busyTimeout, append([]string{"foreign_keys(0)"}, durable...)...)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err := errors.Join(up(ctx, db), db.Close()); err != nil {
		return fmt.Errorf("landscape %s: %w", path, err)
	}
	return nil
}

// up makes the schema of an empty database and applies the migrations that another one lacks; foreign keys are off. Two processes
// that open a file at the same moment may both try: one of them fails, and finds the work done when it looks again. Records that do
// not fit the new schema fail every time.
func up(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithVerbose(false))
	if err != nil {
		return err
	}
	const tries = 10
	for try := range tries {
		if try > 0 {
			time.Sleep(50 * time.Millisecond)
		}
		if err = makeSchema(ctx, db); err != nil {
			continue
		}
		var current, known int64
		if current, known, err = provider.GetVersions(ctx); err != nil {
			continue
		}
		if current > known {
			return fmt.Errorf("its schema has version %d, this program knows versions up to %d: use a newer Waymark", current, known)
		}
		if current == known {
			return nil
		}
		if _, err = provider.Up(ctx); err == nil || isConstraint(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

// makeSchema makes the schema, in one transaction, if the database is empty.
func makeSchema(ctx context.Context, db *sql.DB) error {
	const empty = `select not exists (select * from sqlite_schema)`
	var is bool
	if err := db.QueryRowContext(ctx, empty).Scan(&is); err != nil || !is {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()                                                     //nolint:errcheck // of what was committed
	if err := tx.QueryRowContext(ctx, empty).Scan(&is); err != nil || !is { // another process may have been faster
		return err
	}
	if _, err := tx.ExecContext(ctx, schemaSQL); err != nil {
		return err
	}
	return tx.Commit()
}
