// Package pgstore keeps a landscape in a schema of a Postgres database, version 14 or newer.
//
// The tables and views are those of SQLite's landscape: docs/landscape.md. Only Migrate changes a schema; a process that works
// for runs needs no more than the rights of a writer, which Grant gives.
package pgstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/landscape/migration"
)

// oldest is the first version of Postgres that has what the views need.
const oldest = 140000

// Store is a landscape.Driver over a schema of a Postgres database. Any number of processes may use the same one.
type Store struct {
	place   string
	schema  string
	chain   migration.Chain // what made its schema
	pool    *pgxpool.Pool
	columns columns

	repeating *lru.Cache[string, struct{}] // runs whose last transaction repeated records

	abandonedAfter time.Duration // as the constant says, but in tests
}

// keptRuns is of how many runs a Store knows that they repeat records.
const keptRuns = 1024

var (
	_ landscape.Driver      = (*Store)(nil)
	_ landscape.TableFinder = (*Store)(nil)
)

// Open opens the landscape at a URL such as postgres://user@host:5432/database?schema=waymark&pool_max_conns=10. Beside schema,
// which names the landscape's schema, the parameters are those of pgxpool; what the URL leaves out is taken from the PG… variables
// of the environment, and a password from the pass file as well.
//
// The error wraps landscape.ErrNotFound if there is no landscape in the schema: Migrate makes one. A schema that is
// older or newer than this program, or made by other migrations, is refused, and so is a server whose settings may
// lose what it confirmed. A server that only reads, such as a hot standby, is no error: questions are answered, and a
// commit gives landscape.ErrReadOnly.
func Open(ctx context.Context, text string) (*Store, error) {
	at, err := parse(text)
	if err != nil {
		return nil, err
	}
	return at.open(ctx)
}

func (at address) open(ctx context.Context) (*Store, error) {
	if settings := at.pool.ConnConfig.RuntimeParams; settings["lock_timeout"] == "" {
		settings["lock_timeout"] = strconv.FormatInt(lockPatience.Milliseconds(), 10)
	}
	at.pool.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { // in a goroutine of the pool
		return defect.Catch("record", func() error { return vouch(ctx, conn) })
	}
	pool, err := pgxpool.NewWithConfig(ctx, at.pool)
	if err != nil {
		return nil, explain(at.place, err)
	}
	repeating, err := lru.New[string, struct{}](keptRuns)
	if err != nil {
		return nil, err
	}
	s := &Store{
		place: at.place, schema: at.schema, chain: at.chain, pool: pool, repeating: repeating,
		abandonedAfter: abandonedAfter,
	}
	if err := s.inspect(ctx); err != nil {
		pool.Close()
		return nil, explain(at.place, err)
	}
	return s, nil
}

// inspect looks whether the schema is one that this program knows.
func (s *Store) inspect(ctx context.Context) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	at, err := standingOf(ctx, conn.Conn(), s.schema)
	if err != nil {
		return err
	}
	version, err := at.version(ctx, conn.Conn(), s.chain)
	switch {
	case err != nil:
		return err
	case version == 0:
		return at.missing()
	case version < s.chain.Version():
		return fmt.Errorf("its schema has version %d, this program needs version %d: its owner, %s, "+
			"brings it up with `waymark landscape migrate`", version, s.chain.Version(), at.owner)
	}
	s.columns, err = columnsOf(ctx, conn.Conn(), s.schema)
	return err
}

// Location names the server, the database and the schema: a URL without user and password.
func (s *Store) Location() string { return s.place }

// Close closes all connections.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// unsafe are values of settings with which a server may lose what it confirmed.
var unsafe = map[string][]string{"fsync": {"off"}, "full_page_writes": {"off"}, "synchronous_commit": {"off", "local"}}

// pooled is why a connection is refused that is not the server's own.
const pooled = "a pooler such as PgBouncer answers there, which drops the settings of a connection and may give each transaction to " +
	"another one of the server: put the address of the server itself into the URL, and leave the pooling to this program (pool_max_conns)"

// vouch refuses a connection to a server that is too old, or that may lose what it confirmed, and one by way of a pooler.
// What a session has is lost there from one transaction to the next: the path to the schema, so that tables would be made
// in another one, the statements that are prepared, and the locks.
func vouch(ctx context.Context, conn *pgx.Conn) error {
	const query = `
		select pg_backend_pid()::bigint, current_setting('search_path'),
			current_setting('server_version_num')::bigint, current_setting('server_version'), name, setting
		from pg_settings
		where name in ('fsync', 'full_page_writes', 'synchronous_commit')
		order by name`
	rows, err := conn.Query(ctx, query, pgx.QueryExecModeSimpleProtocol) // a pooler may know a statement of the same name
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var process, number int64
		var path, version, name, setting string
		if err := rows.Scan(&process, &path, &number, &version, &name, &setting); err != nil {
			return err
		}
		if process != int64(conn.PgConn().PID()) || path != conn.Config().RuntimeParams["search_path"] {
			return &refusal{pooled}
		}
		if number < oldest {
			return &refusal{fmt.Sprintf("the server is Postgres %s: use version %d or newer", version, oldest/10_000)}
		}
		for _, value := range unsafe[name] {
			if setting == value {
				return &refusal{fmt.Sprintf("the setting %s is %s: the server may lose what it confirmed: set it to on", name, setting)}
			}
		}
	}
	return rows.Err()
}

// columns are the kinds of all columns, by table and name.
type columns map[string]map[string]kind

// kind is what a column holds.
type kind int

const (
	texts kind = iota
	numbers
	blobs
)

var kinds = map[string]kind{"text": texts, "bigint": numbers, "bytea": blobs}

// columnsOf reads the kinds of columns, and holds them against the records that this program knows.
func columnsOf(ctx context.Context, conn *pgx.Conn, schema string) (columns, error) {
	const query = `
		select c.relname, a.attname, format_type(a.atttypid, null)
		from pg_class c
		join pg_namespace n on n.oid = c.relnamespace
		join pg_attribute a on a.attrelid = c.oid
		where n.nspname = $1 and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
		order by c.relname, a.attnum`
	rows, err := conn.Query(ctx, query, schema)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := columns{}
	for rows.Next() {
		var table, column, word string
		if err := rows.Scan(&table, &column, &word); err != nil {
			return nil, err
		}
		if found[table] == nil {
			found[table] = map[string]kind{}
		}
		if k, known := kinds[word]; known {
			found[table][column] = k
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, t := range landscape.Tables() {
		if found[t.Name] == nil {
			return nil, changed("there is no table " + t.Name)
		}
		for _, c := range t.Columns {
			if _, there := found[t.Name][c.Name]; !there {
				return nil, changed("the table " + t.Name + " has no column " + c.Name)
			}
		}
	}
	return found, nil
}
