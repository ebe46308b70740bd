package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"waymark/landscape"
)

var _ landscape.DamageFinder = (*Store)(nil)

// mostDamage is how many findings of SQLite are reported.
const mostDamage = 30

// Damage does what landscape.DamageFinder says, by SQLite's integrity_check. A file so damaged that this cannot go on is a finding too, and
// so is a value of which a constraint cannot be asked: what else there is, is looked for without constraints then.
func (s *Store) Damage(ctx context.Context) ([]string, error) {
	found, err := integrityOf(ctx, s.read)
	e, is := errors.AsType[*sqlite.Error](err)
	switch {
	case !is:
		return found, err
	case IsDamage(err):
		return append(found, e.Error()), nil
	case e.Code()&primary == sqlite3.SQLITE_ERROR:
		more, err := s.damageBesidesConstraints(ctx)
		return slices.Concat(found, []string{"a constraint cannot be asked: " + e.Error()}, more), err
	default:
		return found, explain(s.path, err)
	}
}

// Bytes is the size of all pages that were committed, those that wait in the write-ahead log among them.
func (s *Store) Bytes(ctx context.Context) (bytes int64, err error) {
	err = s.read.QueryRowContext(ctx, `select page_count * page_size from pragma_page_count, pragma_page_size`).Scan(&bytes)
	return bytes, explain(s.path, err)
}

// ID does what landscape.Identifier says. A copy of the file has the same.
func (s *Store) ID(ctx context.Context) (id string, err error) {
	err = s.read.QueryRowContext(ctx, `select id from schema_versions where version = 1`).Scan(&id)
	return id, explain(s.path, err)
}

func (s *Store) damageBesidesConstraints(ctx context.Context) (found []string, err error) {
	db, err := connect(s.path, "rw", busyTimeout, "query_only(1)", "ignore_check_constraints(1)")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	found, err = integrityOf(ctx, db)
	return found, explain(s.path, err)
}

func integrityOf(ctx context.Context, db *sql.DB) (found []string, err error) {
	rows, err := db.QueryContext(ctx, fmt.Sprintf("pragma integrity_check(%d)", mostDamage))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return found, err
		}
		if text != "ok" {
			found = append(found, strings.ReplaceAll(strings.TrimPrefix(text, "*** in database main ***\n"), "\n", "; "))
		}
	}
	return found, rows.Err()
}
