package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/pgstore"
	"waymark/tests/sample"
	"waymark/tests/services/pg"
)

// inPostgres returns a landscape on Postgres with the runs that play plays when a test first asks for this model. The
// database's own order of texts is not that of their bytes.
func inPostgres(t *testing.T, model string, play func(*testing.T, landscape.Driver)) *pg.Database {
	t.Helper()
	return pg.Like(t, model, func(dsn string) error {
		_, _, err := pgstore.Migrate(t.Context(), dsn)
		require.NoError(t, err)
		store, err := pgstore.Open(t.Context(), dsn)
		require.NoError(t, err)
		play(t, store)
		return store.Close()
	}, `template template0 locale_provider icu icu_locale 'en-US'`)
}

// search connects to a landscape until the end of the test, as docs/landscape.md says.
func search(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), `set search_path = waymark, pg_temp; set jit = off`)
	require.NoError(t, err)
	return conn
}

// TestPageAnswersOnPostgres asks psql the questions of docs/landscape.md, by day some, and compares the answers with
// the page.
func TestPageAnswersOnPostgres(t *testing.T) {
	shell, err := exec.LookPath("psql")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("no psql on the path")
	}
	require.NoError(t, err)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	db := inPostgres(t, "documented", document)
	blocks := example.FindAllStringSubmatch(string(text), -1)
	require.GreaterOrEqual(t, len(blocks), 10)
	for _, b := range sample.Of(4, blocks) {
		cmd := exec.CommandContext(t.Context(), shell, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--command", b[1], db.DSN())
		cmd.Env = append(os.Environ(), "PGOPTIONS=-c search_path=waymark -c jit=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", b[1], out)
		require.Equal(t, b[2], string(out), b[1])
	}
}

// TestTablesAndViewsAgree holds that every table and view has the same columns and rows in both: the documented runs, and the graph
// before its end.
func TestTablesAndViewsAgree(t *testing.T) {
	sample.Rarely(t)
	for name, play := range map[string]func(*testing.T, landscape.Driver){
		"documented": document,
		"held": func(t *testing.T, d landscape.Driver) {
			g := graph{run: "r", log: landscape.New(d, func() time.Time { return time.UnixMicro(int64(noon)) })}
			for _, step := range []func(context.Context) error{g.begin, g.read, g.items} {
				require.NoError(t, step(t.Context()))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, path := create(t)
			play(t, store)
			require.NoError(t, store.Close())
			db := inPostgres(t, name, play)
			conn := search(t, db.DSN())
			for _, table := range relations(t, path) {
				columns, want := rowsOfSQLite(t, path, table)
				require.Equal(t, want, rowsOfPostgres(t, conn, table, columns), table)
			}
		})
	}
}

var blobLiteral = regexp.MustCompile(`x'([0-9a-f]*)'`)

// TestAttacksOnPostgres holds that the guards refuse there what they refuse here, and nobody says so by a mistake in his statement.
func TestAttacksOnPostgres(t *testing.T) {
	db := inPostgres(t, "assailable", assailable)
	conn := search(t, db.DSN())
	_, err := conn.Exec(t.Context(), `create function zeroblob(n int) returns bytea language sql as $$ select decode(repeat('00', n), 'hex') $$`)
	require.NoError(t, err)
	attacks := runAttacks()
	maps.Copy(attacks, graphAttacks())
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			statement := blobLiteral.ReplaceAllString(attack.sql, `'\x$1'::bytea`)
			var refused *pgconn.PgError
			require.ErrorAs(t, pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), statement)
				return err
			}), &refused, statement)
			const wrongData, wrongRecord = "22", "23"
			require.Contains(t, []string{wrongData, wrongRecord}, refused.Code[:2], "%s: %v", statement, refused)
		})
	}
}

// relations returns the names of all tables and views of a landscape.
func relations(t *testing.T, path string) []string {
	t.Helper()
	return list(t, stranger(t, path, ""), `
		select name from pragma_table_list where schema = 'main' and name not like 'sqlite%' and name not like 'goose%' order by name`)
}

// rowsOfSQLite returns the columns of a table or view, by name, and its rows as texts, sorted.
func rowsOfSQLite(t *testing.T, path, table string) (columns, found []string) {
	t.Helper()
	db := stranger(t, path, "")
	columns = list(t, db, `select name from pragma_table_info('`+table+`') order by name`)
	rows, err := db.Query(`select ` + strings.Join(columns, ", ") + ` from ` + table)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		require.NoError(t, rows.Scan(targets...))
		found = append(found, line(values))
	}
	require.NoError(t, rows.Err())
	slices.Sort(found)
	return columns, found
}

func rowsOfPostgres(t *testing.T, conn *pgx.Conn, table string, columns []string) (found []string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select * from `+table+` limit 0`)
	require.NoError(t, err)
	var named []string
	for _, f := range rows.FieldDescriptions() {
		named = append(named, f.Name)
	}
	rows.Close()
	slices.Sort(named)
	require.Equal(t, columns, named, table)
	rows, err = conn.Query(t.Context(), `select `+strings.Join(columns, ", ")+` from `+table)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		require.NoError(t, err)
		found = append(found, line(values))
	}
	require.NoError(t, rows.Err(), table)
	slices.Sort(found)
	return found
}

// line is a row as a text in which NULL, texts, numbers and blobs are told apart.
func line(values []any) string {
	parts := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case sql.RawBytes, []byte:
			parts[i] = fmt.Sprintf("x'%x'", v)
		default:
			parts[i] = fmt.Sprintf("%T %v", v, v)
		}
	}
	return strings.Join(parts, "|")
}

// TestVersionsMeanTheSame holds that no migration of SQLite is without its twin.
func TestVersionsMeanTheSame(t *testing.T) {
	_, path := create(t)
	var newest int64
	require.NoError(t, stranger(t, path, "").QueryRow(`select max(version) from schema_versions`).Scan(&newest))
	require.Equal(t, newest, pgstore.Version(), "a migration in sqlitestore/migrations needs one with the same number in pgstore/migrations")
}
