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

// migrate checks that db is a landscape, or empty if fresh, and applies what it lacks. Every migration is one
// transaction.
func migrate(ctx context.Context, db *sql.DB, path string, fresh bool) error {
	if err := checkIdentity(ctx, db, fresh); err != nil {
		return fmt.Errorf("landscape %s: %w", path, err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithVerbose(false))
	if err != nil {
		return fmt.Errorf("landscape %s: migrations: %w", path, err)
	}
	if err := up(ctx, provider); err != nil {
		return fmt.Errorf("landscape %s: %w", path, err)
	}
	return nil
}

// checkIdentity refuses a file that something else made. Another process may have created the landscape since it was
// found to be fresh.
func checkIdentity(ctx context.Context, db *sql.DB, fresh bool) error {
	var id, tables int64
	if err := db.QueryRowContext(ctx, `pragma application_id`).Scan(&id); err != nil {
		return fmt.Errorf("not a SQLite file that can be read: %w", err)
	}
	if err := db.QueryRowContext(ctx, `select count(*) from sqlite_schema where name not like 'goose%' and name not like 'sqlite%'`).Scan(&tables); err != nil {
		return fmt.Errorf("not a SQLite file that can be read: %w", err)
	}
	if id == applicationID || fresh && id == 0 && tables == 0 {
		return nil
	}
	return errors.New("a SQLite file, but not a Waymark landscape: give the path of another file")
}

// up applies missing migrations. Two processes that open a file at the same moment may both try: one of them fails, and
// finds the work done when it looks again.
func up(ctx context.Context, provider *goose.Provider) error {
	const tries = 10
	var err error
	for try := range tries {
		if try > 0 {
			time.Sleep(50 * time.Millisecond)
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
		if _, err = provider.Up(ctx); err == nil {
			return nil
		}
	}
	return fmt.Errorf("schema: %w", err)
}
