package pgstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Version is the version of the schema that this program needs. It means the same as in SQLite's landscapes.
var Version = sync.OnceValue(func() (newest int64) {
	files, _ := fs.Glob(migrations, "migrations/*.sql") // the pattern is good
	for _, file := range files {
		number, _, _ := strings.Cut(strings.TrimPrefix(file, "migrations/"), "_")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			newest = max(newest, n)
		}
	}
	return newest
})

// Migrate makes the landscape that the URL names, or brings its schema up to date, and returns the versions before and after; 0 is none.
// The URL's user must be allowed to create the schema, or own it. Every migration is one transaction; who is second waits for
// who is first. A schema that something else made, or a newer program, is refused and left as it is.
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
	if from, err = at.version(ctx, conn); err != nil {
		return 0, 0, at.mayOwn(err)
	}
	if from > Version() {
		return from, from, newer(from)
	}
	if err := at.makeSchema(ctx, conn); err != nil {
		return from, from, err
	}
	if err := a.up(ctx); err != nil {
		return from, from, at.mayOwn(fmt.Errorf("schema: %w", err))
	}
	return from, Version(), nil
}

// makeSchema makes the schema unless it is there. In one where the role may make no tables, Postgres would make them elsewhere.
func (s standing) makeSchema(ctx context.Context, conn *pgx.Conn) error {
	switch {
	case s.there && (!s.usable || !s.fillable):
		return s.foreign()
	case s.there:
		return nil
	}
	_, err := conn.Exec(ctx, `create schema if not exists `+quote(s.schema))
	return s.mayCreate(err)
}

// up applies what is missing.
func (a address) up(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*a.pool.ConnConfig)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithVerbose(false))
	if err == nil {
		_, err = provider.Up(ctx)
	}
	return errors.Join(err, db.Close())
}
