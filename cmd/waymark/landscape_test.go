package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/client/local"
	"waymark/landscape/pgstore"
	"waymark/tests/services/pg"
)

// waymark runs a command line and returns its exit code and what it wrote.
func waymark(args ...string) (code int, stdout, stderr string) {
	var out, said bytes.Buffer
	code = execute(args, &out, &said, func(string) (string, bool) { return "", false })
	return code, out.String(), said.String()
}

// TestRecordInPostgres makes a record in a database and gives it to roles, as its owner does, and asks it as the reader.
func TestRecordInPostgres(t *testing.T) {
	db := pg.Private(t).Database(t)
	quiet := func(code int, stdout, stderr string) string {
		require.Zero(t, code, stderr)
		require.NotContains(t, stdout+stderr, db.Password())
		return stdout
	}
	place, err := pgstore.Place(db.DSN())
	require.NoError(t, err)

	code, _, stderr := waymark("runs", "--landscape", db.DSN())
	require.NotZero(t, code)
	require.Contains(t, stderr, "waymark landscape migrate")

	var done local.Migration
	require.NoError(t, json.Unmarshal([]byte(quiet(waymark("landscape", "migrate", "--landscape", db.DSN(), "--json"))), &done))
	require.Equal(t, local.Migration{Place: place, To: pgstore.Version()}, done)
	require.Contains(t, quiet(waymark("landscape", "migrate", "--landscape", db.DSN())), "nothing to do")

	code, _, stderr = waymark("landscape", "grant", "--landscape", db.DSN(), "--reader", "asking")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, `create role "asking" nologin`)
	conn, err := pgx.Connect(t.Context(), db.Superuser())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `create role asking nologin; create role working nologin`)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.Equal(t, "working may read, insert, and move runs and effects in "+place+"\nasking may read in "+place+"\n",
		quiet(waymark("landscape", "grant", "--landscape", db.DSN(), "--writer", "working", "--reader", "asking")))

	ann := db.Login(t, "ann", "asking")
	require.Empty(t, strings.TrimSpace(quiet(waymark("runs", "--json", "--landscape", ann))))

	state, document := t.TempDir(), filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(document), "in.csv"), []byte("a\n1\n"), 0o600))
	require.NoError(t, os.WriteFile(document, []byte("name: p\nsources: {in: {csv: {path: in.csv}, schema: {fields: {a: int}}}}\nsinks: {out: {csv: {path: out.csv}}}\n"), 0o600))
	code, _, stderr = waymark("run", document, "--state", state, "--landscape", ann)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "the role ann may not work for runs: it lacks insert on access_tokens, ")
	code, _, stderr = waymark("run", document, "--state", state, "--landscape", db.DSN())
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "waymark: the role "+db.Owner()+" owns the record, and so could change what is there")
	code, _, stderr = waymark("run", document, "--state", t.TempDir(), "--keys", filepath.Join(state, "keys"), "--landscape", db.Login(t, "bob", "working"))
	require.Equal(t, exitFailed, code, "the output is there")
	require.NotContains(t, stderr, "owns the record")

	code, stdout, _ := waymark("doctor", "--state", state, "--landscape", db.Login(t, "cid"), "--json")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stdout, `"status":"fail","detail":"landscape `+place+`: the role cid may not read the schema waymark: its owner, `+db.Owner()+
		", gives it what it needs with `waymark landscape grant`, --writer for processes that work for runs, --reader for who asks\"}")
	code, stdout, _ = waymark("doctor", "--state", state, "--landscape", ann, "--payloads", "file:"+filepath.Join(state, "nowhere"), "--json")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stdout, "and of the payloads: no payloads at ")
	require.Contains(t, stdout, `{"check":"clock","status":"ok",`)
}
