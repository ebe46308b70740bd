package pgstore_test

import (
	"io"
	"net"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"waymark/landscape/pgstore"
	"waymark/tests/services/pg"
)

// TestPoolersAreRefused: whatever a pooler does with the settings of a connection, nothing is made by way of it, and the
// message has the cure.
func TestPoolersAreRefused(t *testing.T) {
	db := pg.New(t)
	direct := func(map[string]string) error { return nil }
	for name, p := range map[string]pooler{
		"it refuses settings": {settings: func(all map[string]string) error {
			if _, has := all["jit"]; has {
				return &unsupported
			}
			return nil
		}},
		"it ignores settings":   {settings: func(all map[string]string) error { delete(all, "jit"); delete(all, "search_path"); return nil }},
		"it has its own number": {settings: direct, shift: 1},
	} {
		t.Run(name, func(t *testing.T) {
			through := p.before(t, db)
			_, _, err := pgstore.Migrate(t.Context(), through)
			require.ErrorContains(t, err, "a pooler such as PgBouncer answers there")
			require.ErrorContains(t, err, "put the address of the server itself into the URL")
			_, err = pgstore.Open(t.Context(), through)
			require.ErrorContains(t, err, "a pooler such as PgBouncer answers there")
		})
	}
	var tables int
	conn := connect(t, db.DSN())
	require.NoError(t, conn.QueryRow(t.Context(), `select count(*) from pg_tables where schemaname in ('public', 'waymark')`).Scan(&tables))
	require.Zero(t, tables)

	_, to, err := pgstore.Migrate(t.Context(), pooler{settings: direct}.before(t, db))
	require.NoError(t, err, "what only hands on is no pooler")
	require.Equal(t, pgstore.Version(), to)
}

// unsupported is what PgBouncer says of a setting that it does not know.
var unsupported = refusedSetting{pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: jit"}}

type refusedSetting struct{ pgproto3.ErrorResponse }

func (r *refusedSetting) Error() string { return r.Message }

// pooler stands between clients and a server.
type pooler struct {
	settings func(map[string]string) error // changes those of a connection; its error is what the client gets
	shift    uint32                        // between the numbers of processes that clients and the server know
}

// before starts the pooler before a database, and returns the URL by which it is reached.
func (p pooler) before(t *testing.T, db *pg.Database) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				_ = p.serve(client, db.Address()) // a connection that ends is no fault
			}()
		}
	}()
	u, err := url.Parse(db.DSN())
	require.NoError(t, err)
	u.Host = listener.Addr().String()
	return with(t, u.String(), "sslmode", "disable")
}

// serve hands on what client and server say.
func (p pooler) serve(client net.Conn, address string) error {
	server, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer server.Close()
	front, back := pgproto3.NewBackend(client, client), pgproto3.NewFrontend(server, server)
	first, err := front.ReceiveStartupMessage()
	startup, is := first.(*pgproto3.StartupMessage)
	if err != nil || !is {
		return err
	}
	if err := p.settings(startup.Parameters); err != nil {
		front.Send(&err.(*refusedSetting).ErrorResponse) //nolint:errorlint,forcetypeassert // no other is given
		return front.Flush()
	}
	back.Send(startup)
	if err := back.Flush(); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	for {
		message, err := back.Receive()
		if err != nil {
			return err
		}
		if key, is := message.(*pgproto3.BackendKeyData); is {
			key.ProcessID += p.shift
		}
		front.Send(message)
		if err := front.Flush(); err != nil {
			return err
		}
		if _, ready := message.(*pgproto3.ReadyForQuery); ready {
			_, err := io.Copy(client, server)
			return err
		}
	}
}
