package main

import (
	"bytes"
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/payload/fsstore"
)

// recorded returns a state folder with a complete run "r" on record.
func recorded(t *testing.T) (state string) {
	t.Helper()
	state = t.TempDir()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(state, "landscape.db"), sqlitestore.Options{Create: true})
	require.NoError(t, err)
	require.NoError(t, landscapetest.Scene{Run: "r", Chunks: 1, ChunkRows: 10}.Play(t.Context(), landscape.New(store, nil)))
	require.NoError(t, store.Close())
	_, err = fsstore.Create(filepath.Join(state, "payloads"))
	require.NoError(t, err)
	return state
}

func verifyIn(t *testing.T, state string) (code int, stdout, stderr string) {
	t.Helper()
	var out, problems bytes.Buffer
	code = execute([]string{"verify", "r", "--state", state}, &out, &problems, func(string) (string, bool) { return "", false })
	return code, out.String(), problems.String()
}

// TestVerifyTellsWhatTheSchemaLacks takes tables away that a program needs to find a run, or to know which schema it has before it: verify
// names them, and makes nothing anew.
func TestVerifyTellsWhatTheSchemaLacks(t *testing.T) {
	for _, table := range []string{"runs", "goose_db_version", "chunks"} {
		t.Run(table, func(t *testing.T) {
			state := recorded(t)
			change(t, state, "drop table "+table)
			before := schemaTexts(t, state)
			code, stdout, stderr := verifyIn(t, state)
			require.Equal(t, 4, code, stderr)
			require.Contains(t, stdout, "schema_differs  table "+table+"  it is missing")
			require.Equal(t, before, schemaTexts(t, state))
		})
	}
}

// TestVerifyLeavesAnotherSchema holds that a record with another version of the schema is refused as it is, with what cures it.
func TestVerifyLeavesAnotherSchema(t *testing.T) {
	for change, says := range map[string]string{
		"drop table schema_versions": "landscape.db: its table schema_versions is missing, or does not say which migrations made the schema: put a backup",
		"insert into schema_versions (version, sha256) values (2, printf('%064d', 0))": "knows versions up to 1: use a newer",
	} {
		t.Run(says, func(t *testing.T) { refusesSchema(t, change, says) })
	}
}

func refusesSchema(t *testing.T, statement, says string) {
	state := recorded(t)
	change(t, state, statement)
	before := schemaTexts(t, state)
	code, stdout, stderr := verifyIn(t, state)
	require.Equal(t, 2, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, says)
	serve := "serve --port 0 --pages off --http off --api off"
	for _, command := range []string{"runs", "queue", "purge --why due", "landscape migrate", serve} {
		code, stdout, stderr = waymark(append(strings.Fields(command), "--state", state)...)
		require.Equal(t, 2, code, command)
		require.Empty(t, stdout, command)
		require.Contains(t, stderr, says, command)
	}
	_, stdout, _ = waymark("doctor", "--state", state)
	require.Contains(t, stdout, says)
	require.NotContains(t, stdout, "--landscape sqlite:PATH", "that cures nothing here")
	require.NotContains(t, stdout, "the record was removed")
	require.Equal(t, before, schemaTexts(t, state))
}

func onFile(t *testing.T, state string, work func(ctx context.Context, db *sql.DB)) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(state, "landscape.db"))
	require.NoError(t, err)
	work(t.Context(), db)
	require.NoError(t, db.Close())
}

func change(t *testing.T, state string, statements ...string) {
	t.Helper()
	onFile(t, state, func(ctx context.Context, db *sql.DB) {
		for _, statement := range statements {
			_, err := db.ExecContext(ctx, statement)
			require.NoError(t, err, statement)
		}
	})
}

func schemaTexts(t *testing.T, state string) (texts string) {
	t.Helper()
	onFile(t, state, func(ctx context.Context, db *sql.DB) {
		require.NoError(t, db.QueryRowContext(ctx, "select group_concat(type || name || coalesce(sql, ''), x'0a') from sqlite_schema").Scan(&texts))
	})
	return texts
}
