package sqlitestore_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape/landscapetest"
	"waymark/tests/sample"
)

// owner changes a file past its triggers and checks.
type owner struct{ conn *sql.Conn }

func (o owner) Exec(query string, args ...any) error {
	_, err := o.conn.ExecContext(context.Background(), query, args...)
	return err
}

// TestEdits holds that whoever owns the file hides nothing about tokens from a count of packed columns that a deep sweep finds.
func TestEdits(t *testing.T) {
	store, path := create(t)
	defer store.Close()
	conn, err := stranger(t, path, "").Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	landscapetest.Edits(t, store, owner{free(t, conn)}, 120/sample.Step(3), true)
}

// free takes away what keeps records as they are.
func free(t *testing.T, conn *sql.Conn) *sql.Conn {
	t.Helper()
	_, err := conn.ExecContext(t.Context(), `pragma ignore_check_constraints = 1; pragma foreign_keys = 0;
		pragma synchronous = off; pragma writable_schema = 1; `+
		`delete from sqlite_schema where type = 'trigger'; pragma writable_schema = reset`)
	require.NoError(t, err)
	return conn
}
