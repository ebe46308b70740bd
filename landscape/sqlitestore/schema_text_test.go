package sqlitestore

import (
	"database/sql"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"
)

var write = flag.Bool("write-schema", false, "write schema.sql as the migrations make it")

// TestSchemaIsThatOfTheMigrations applies every migration to an empty database: what they make is what schema.sql makes, to the
// letter. After a new migration: go test ./landscape/sqlitestore -run TestSchemaIsThatOfTheMigrations -write-schema
func TestSchemaIsThatOfTheMigrations(t *testing.T) {
	db := inMemory(t)
	files, err := fs.Sub(migrations, "migrations")
	require.NoError(t, err)
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithVerbose(false))
	require.NoError(t, err)
	_, err = provider.Up(t.Context())
	require.NoError(t, err)
	want := schemaText(t, db)
	if *write {
		require.NoError(t, os.WriteFile("schema.sql", []byte(want), 0o600))
		return
	}
	require.Equal(t, want, schemaSQL, "schema.sql is behind the migrations: see this test's comment")

	made := inMemory(t)
	require.NoError(t, makeSchema(t.Context(), made))
	require.Equal(t, want, schemaText(t, made))
	migrated, err := schemaOf(t.Context(), db)
	require.NoError(t, err)
	fresh, err := schemaOf(t.Context(), made)
	require.NoError(t, err)
	require.Equal(t, migrated, fresh)
}

func inMemory(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxOpenConns(1)
	return db
}

// schemaText is a script that makes all that is in the database: tables with what the migrations put into them, then what guards
// them.
func schemaText(t *testing.T, db *sql.DB) string {
	t.Helper()
	var b strings.Builder
	var id int64
	require.NoError(t, db.QueryRow(`pragma application_id`).Scan(&id))
	fmt.Fprintf(&b, "pragma application_id = %#x;\n", id)
	for _, kind := range []string{"table", "index", "view", "trigger"} {
		for _, object := range texts(t, db, `select name || char(0) || sql from sqlite_schema
			where type = ? and sql is not null and name not like 'sqlite%' order by rowid`, kind) {
			name, text, _ := strings.Cut(object, "\x00")
			fmt.Fprintf(&b, "\n%s;\n", text)
			if kind == "table" {
				writeRows(t, &b, db, name)
			}
		}
	}
	return b.String()
}

// writeRows inserts the rows of a table, without the moments at which migrations were applied.
func writeRows(t *testing.T, b *strings.Builder, db *sql.DB, table string) {
	t.Helper()
	columns := texts(t, db, `select name from pragma_table_info(?) where name <> 'tstamp' order by cid`, table)
	rows := texts(t, db, `select '(' || quote(`+strings.Join(columns, `) || ', ' || quote(`)+`) || ')' from `+table+` order by `+columns[0])
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\ninsert into %s (%s) values", table, strings.Join(columns, ", "))
	separator := ""
	for line := range slices.Chunk(rows, 16) {
		fmt.Fprintf(b, "%s\n  %s", separator, strings.Join(line, ", "))
		separator = ","
	}
	b.WriteString(";\n")
}

func texts(t *testing.T, db *sql.DB, query string, args ...any) (found []string) {
	t.Helper()
	rows, err := db.Query(query, args...)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		found = append(found, text)
	}
	require.NoError(t, rows.Err())
	return found
}

// Schedules of schema 26 are those of documents.
func TestSchedulesOfSchema26(t *testing.T) {
	db := inMemory(t)
	files, err := fs.Sub(migrations, "migrations")
	require.NoError(t, err)
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithVerbose(false))
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), 26)
	require.NoError(t, err)
	_, err = db.Exec(`
		insert into bundles values ('` + strings.Repeat("b", 64) + `', '` + strings.Repeat("d", 64) + `', '{}', 1, 1);
		insert into pipeline_versions values ('orders', 1, '` + strings.Repeat("b", 64) + `', 'ann', '', 'dev', 'here', '/', '', 0, 1);
		insert into schedules values ('default/orders/nightly', 0, 'default', 'orders', 'nightly', 'set', '{}', 1, 1, 0, null, 'ann', 'first', 1);
		insert into slots values ('default/orders/nightly', '2026-11-01', 0, 1, 1, null, 1, 0, 'due', '', 0, 0, '', '', 1, null, 1);`)
	require.NoError(t, err)
	_, err = provider.Up(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"set ann document"}, texts(t, db, "select action || ' ' || actor || ' ' || origin from schedules"))
	_, err = db.Exec(`insert into slots values ('default/orders/weekly', '2026-11-01', 0, 1, 1, null, 1, 0, 'due', '', 0, 0, '', '', 1, null, 1)`)
	require.ErrorContains(t, err, "a slot of a schedule", "the triggers of other tables are there")
}
