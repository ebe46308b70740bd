package services_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/tests/services/pg"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	one, two := pg.New(t), pg.New(t)
	require.Equal(t, one.Address(), two.Address(), "one server serves all tests")
	_, err := connect(t, one.DSN()).Exec(t.Context(), `create table mine (n int)`)
	require.NoError(t, err)
	_, err = connect(t, two.DSN()).Exec(t.Context(), `select n from mine`)
	require.ErrorContains(t, err, "does not exist")
}

func TestOwnerIsNoSuperuser(t *testing.T) {
	db := pg.New(t)
	var super bool
	const query = `select rolsuper from pg_roles where rolname = current_user`
	require.NoError(t, connect(t, db.DSN()).QueryRow(t.Context(), query).Scan(&super))
	require.False(t, super)
	require.NoError(t, connect(t, db.Superuser()).QueryRow(t.Context(), query).Scan(&super))
	require.True(t, super)
}

func TestCommittedSurvivesServerEnd(t *testing.T) {
	server := pg.Private(t)
	db := server.Database(t)
	_, err := connect(t, db.DSN()).Exec(t.Context(), `create table kept (n int)`)
	require.NoError(t, err)
	ends := []func(){
		func() { server.Restart(t, false) },
		func() { server.Restart(t, true) },
		func() { server.Kill(); server.Start(t) },
	}
	for n, end := range ends {
		conn := connect(t, db.DSN())
		_, err := conn.Exec(t.Context(), `insert into kept values ($1)`, n)
		require.NoError(t, err)
		end()
		gone := func() bool { return conn.Ping(t.Context()) != nil }
		require.Eventually(t, gone, time.Minute, time.Millisecond, "the old connection ends with its server")
		var rows int
		require.NoError(t, connect(t, db.DSN()).QueryRow(t.Context(), `select count(*) from kept`).Scan(&rows))
		require.Equal(t, n+1, rows)
	}
}

// holdPostgres makes this test binary a process that starts a server, names a database of it, and waits to be killed.
const holdPostgres = "WAYMARK_TEST_HOLD_POSTGRES"

func TestPostgresDiesWithAKilledTestProcess(t *testing.T) {
	if os.Getenv(holdPostgres) != "" {
		_, err := os.Stdout.WriteString(pg.New(t).DSN() + "\n")
		require.NoError(t, err)
		select {}
	}
	pg.New(t) // skips where there is none
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), holdPostgres+"=1")
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	dsn, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	conn := connect(t, strings.TrimSpace(dsn))

	require.NoError(t, cmd.Process.Kill())
	_, err = io.ReadAll(conn.PgConn().Conn()) // ends when the server does
	require.True(t, err == nil || strings.Contains(err.Error(), "reset"), "%v", err)
	require.Error(t, cmd.Wait())
}
