package pgstore

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"waymark/landscape/migration"
)

//go:embed migrations/*.sql
var migrations embed.FS

// known are the migrations of this program.
var known = migration.Read(migrations, "migrations")

// Version is the version of the schema that this program needs. It means the same as in SQLite's landscapes.
func Version() int64 { return known.Version() }

// Migrate makes the landscape that the URL names, or brings its schema up to date, and returns the versions before and
// after; 0 is none. The URL's user must be allowed to create the schema, or own it. Every migration is one transaction;
// of two calls the second waits for the first. A schema that something else made, a newer program, or one before the
// first release, is refused and left as it is.
func Migrate(ctx context.Context, text string) (from, to int64, err error) {
	at, err := parse(text)
	if err != nil {
		return 0, 0, err
	}
	from, to, err = at.migrate(ctx)
	return from, to, explain(at.place, err)
}

func (a address) migrate(ctx context.Context) (from, to int64, err error) {
	conn, err := pgx.ConnectConfig(ctx, a.pool.ConnConfig)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is left to be done
	if err := vouch(ctx, conn); err != nil {
		return 0, 0, err
	}
	// Until the connection ends: who is second waits here, and finds all done.
	if _, err := conn.Exec(ctx, `select pg_advisory_lock(hashtextextended('migrate ' || $1, 0))`, a.schema); err != nil {
		return 0, 0, err
	}
	at, err := standingOf(ctx, conn, a.schema)
	if err != nil {
		return 0, 0, err
	}
	if from, err = at.version(ctx, conn, a.chain); err != nil {
		return from, from, at.mayOwn(err)
	}
	if err := at.makeSchema(ctx, conn); err != nil {
		return from, from, err
	}
	if from == a.chain.Version() {
		return from, from, nil
	}
	if err := a.up(ctx); err != nil {
		return from, from, at.inTheWay(at.mayOwn(fmt.Errorf("schema: %w", err)))
	}
	return from, a.chain.Version(), nil
}

// inTheWay explains an error of a migration that would make what is there. Other errors stay.
func (s standing) inTheWay(err error) error {
	switch codeOf(err) {
	case duplicateTable, duplicateObject, duplicateFunction:
	default:
		return err
	}
	if s.ours {
		return changed(err.Error())
	}
	return s.otherwise()
}

// makeSchema makes the schema unless it is there. It refuses one of another owner, who could neither read nor grant
// what the role makes there, and one where the role may make no tables: Postgres would make them elsewhere.
func (s standing) makeSchema(ctx context.Context, conn *pgx.Conn) error {
	switch {
	case s.there && (!s.owns || !s.usable || !s.fillable):
		return s.foreign()
	case s.there:
		return nil
	}
	_, err := conn.Exec(ctx, `create schema if not exists `+quote(s.schema))
	return s.mayCreate(err)
}

// up applies what is missing.
func (a address) up(ctx context.Context) error {
	db := stdlib.OpenDB(*a.pool.ConnConfig)
	return errors.Join(a.chain.Up(ctx, db, goose.DialectPostgres), db.Close())
}
