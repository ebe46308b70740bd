package main

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"waymark/tests/services/pg"
)

// databases are Postgres databases for scripts, of one server that is started when the first one is asked for.
func databases(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	t.Helper()
	return func(ts *testscript.TestScript, _ bool, args []string) {
		if len(args) != 0 {
			ts.Fatalf("usage: database")
		}
		dsn := pg.Private(t).Database(t).DSN()
		ts.Setenv("WAYMARK_SECRET_DW", dsn)
		ts.Setenv("WAYMARK_ALLOW_NETWORK", "127.0.0.0/8")
	}
}

// sql STATEMENT prints the rows of a statement in the script's database, the columns separated by |.
func runSQL(ts *testscript.TestScript, _ bool, args []string) {
	conn, err := pgx.Connect(context.Background(), ts.Getenv("WAYMARK_SECRET_DW"))
	ts.Check(err)
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(context.Background(), strings.Join(args, " "), pgx.QueryExecModeSimpleProtocol)
	ts.Check(err)
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var cells []string
		for _, cell := range row.RawValues() {
			cells = append(cells, string(cell))
		}
		return strings.Join(cells, "|") + "\n", nil
	})
	ts.Check(err)
	_, err = ts.Stdout().Write([]byte(strings.Join(lines, "")))
	ts.Check(err)
}
