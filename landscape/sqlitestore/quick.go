package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Quick is what a quick check of a landscape's file found.
type Quick struct {
	Tables  int           // that were looked through, each with its indexes
	Left    int           // that were not, for want of time
	Damaged []TableDamage // nil if nothing was found
}

// TableDamage is the first thing that is wrong with the pages of a table and its indexes.
type TableDamage struct{ Table, What string }

// QuickCheck looks through the pages of the file at path with SQLite's quick_check, table by table, until limit has passed. It finds pages that
// cannot be read or contradict each other, and not what Damage finds besides: that an index has the entries of its table. Nothing is changed.
func QuickCheck(ctx context.Context, path string, limit time.Duration) (found Quick, err error) {
	db, err := connect(path, "rw", busyTimeout, "query_only(1)")
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tables, err := tablesOf(ctx, db)
	if IsDamage(err) {
		found.Damaged = []TableDamage{{"sqlite_schema", err.Error()}}
		return found, nil
	}
	limited, stop := context.WithTimeout(ctx, limit)
	defer stop()
	for i, table := range tables {
		what, err := quickCheck(limited, db, table)
		switch {
		case ctx.Err() == nil && limited.Err() != nil:
			found.Left = len(tables) - i
			return found, nil
		case err != nil:
			return found, explain(path, err)
		case what != "":
			found.Damaged = append(found.Damaged, TableDamage{table, what})
		}
		found.Tables++
	}
	return found, explain(path, err)
}

func tablesOf(ctx context.Context, db *sql.DB) (tables []string, err error) {
	rows, err := db.QueryContext(ctx, `select name from sqlite_schema where type = 'table' order by name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		tables = append(tables, name)
	}
	return tables, rows.Err()
}

// quickCheck returns the first thing that is wrong with a table; empty if nothing is.
func quickCheck(ctx context.Context, db *sql.DB, table string) (what string, err error) {
	err = db.QueryRowContext(ctx, fmt.Sprintf("pragma quick_check(%q)", table)).Scan(&what)
	switch {
	case IsDamage(err):
		return err.Error(), nil
	case err != nil || what == "ok":
		return "", err
	}
	lines := strings.Split(strings.TrimPrefix(what, "*** in database main ***\n"), "\n")
	return lines[0], nil
}

// IsDamage reports whether an error of this package, or of SQLite, says that a file is not whole.
func IsDamage(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&primary == sqlite3.SQLITE_CORRUPT || e.Code()&primary == sqlite3.SQLITE_NOTADB)
}
