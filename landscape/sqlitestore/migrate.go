package sqlitestore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"

	"waymark/landscape"
	"waymark/landscape/migration"
)

//go:embed migrations/*.sql
var migrations embed.FS

// known are the migrations of this program.
var known = migration.Read(migrations, "migrations")

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
	return false, fmt.Errorf("landscape %s: %w", path, &landscape.UnfitError{
		Why: "a SQLite file, but not a Waymark landscape: give the path of another file",
	})
}

// recorded returns the digests of the migrations that made the schema, as migration.Recorded does, and nothing if the
// schema records none.
func recorded(ctx context.Context, path string) (digests string, err error) {
	db, err := connect(path, "rw", busyTimeout, integrity, "query_only(1)")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	const query = `select exists (select * from sqlite_schema where name = '` + migration.Versions + `')`
	var there bool
	if err := db.QueryRowContext(ctx, query).Scan(&there); err != nil || !there {
		return "", err
	}
	err = db.QueryRowContext(ctx, migration.Recorded).Scan(&digests)
	return digests, err
}

// judge refuses a landscape that the migrations did not make, or that they may not bring up to date.
func judge(ctx context.Context, path string, chain migration.Chain, keep bool) error {
	digests, err := recorded(ctx, path)
	if err != nil {
		return err
	}
	version, err := chain.Judge(digests)
	_, foreign := errors.AsType[*migration.ForeignError](err)
	switch {
	case foreign:
		const cure = ": put a backup in its place, or use the program that made it; " +
			"or start with a new folder, or with a new file if --landscape names this one"
		return fmt.Errorf("landscape %s: %w", path, &landscape.UnfitError{Why: err.Error() + cure})
	case err != nil:
		return fmt.Errorf("landscape %s: %w", path, &landscape.UnfitError{Why: err.Error()})
	case keep && version < chain.Version():
		return fmt.Errorf("landscape %s: its schema has version %d, this program makes version %d: "+
			"bring it up to date with `waymark landscape migrate`", path, version, chain.Version())
	}
	return nil
}

// migrate applies what the landscape at path lacks. Every migration is one transaction.
func migrate(ctx context.Context, path string, chain migration.Chain) error {
	// With foreign keys on, SQLite empties a table before it drops it, and all that points there is in the way.
	db, err := connect(path, "rw", busyTimeout, append([]string{"foreign_keys(0)"}, durable...)...)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err := errors.Join(up(ctx, db, chain), db.Close()); err != nil {
		return fmt.Errorf("landscape %s: %w", path, err)
	}
	return nil
}

// up makes the schema of an empty database and applies the migrations that another one lacks; foreign keys are off. Two
// processes that open a file at the same moment may both try: one of them fails, and finds the work done when it looks
// again. Records that do not fit the new schema fail every time.
func up(ctx context.Context, db *sql.DB, chain migration.Chain) (err error) {
	const tries = 10
	for try := range tries {
		if try > 0 {
			time.Sleep(50 * time.Millisecond)
		}
		if err = chain.Up(ctx, db, goose.DialectSQLite3); err == nil || isConstraint(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}
