package workers_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape/pgstore"
	"waymark/tests/sample"
	"waymark/tests/services/pg"
	"waymark/worker/daemon"
)

// listener is a database of somebody who may write documents: it asks for a password in clear text, and keeps what it is sent.
type listener struct {
	net.Listener
	mu    sync.Mutex
	calls int
	heard []byte
}

func listen(t *testing.T) *listener {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &listener{Listener: at}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			said := l.ask(conn)
			_ = conn.Close()
			l.mu.Lock()
			l.calls++
			l.heard = append(l.heard, said...)
			l.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l
}

// ask returns what a caller begins with, and what he answers when he is asked for his password, whom nobody lets in then.
func (l *listener) ask(conn net.Conn) []byte {
	hello := make([]byte, 4)
	if _, err := io.ReadFull(conn, hello); err != nil {
		return nil
	}
	rest := make([]byte, binary.BigEndian.Uint32(hello)-4)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return nil
	}
	_, _ = conn.Write([]byte("R\x00\x00\x00\x08\x00\x00\x00\x03")) // AuthenticationCleartextPassword
	head := make([]byte, 5)
	if _, err := io.ReadFull(conn, head); err != nil {
		return rest
	}
	answer := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	_, _ = io.ReadFull(conn, answer)
	refusal := "SFATAL\x00C28P01\x00Mpassword authentication failed\x00\x00"
	_, _ = conn.Write(append(binary.BigEndian.AppendUint32([]byte{'E'}, uint32(4+len(refusal))), refusal...))
	return append(rest, answer...)
}

func (l *listener) told() (calls int, heard string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls, string(l.heard)
}

// TestADocumentGetsNothingOfTheLandscape: the worker's password for its record is in its environment, as docs/cluster.md says. No
// document gets it, neither for a server of its author nor for the record.
func TestADocumentGetsNothingOfTheLandscape(t *testing.T) {
	sample.Rarely(t)
	s, theirs := newSite(t), listen(t)
	record := pg.New(t)
	_, _, err := pgstore.Migrate(t.Context(), record.DSN())
	require.NoError(t, err)
	t.Setenv("PGPASSWORD", record.Password())
	documents := map[string]string{
		"theirs": "postgres://somebody@" + theirs.Addr().String() + "/x?sslmode=disable",
		"record": "postgres://" + record.Owner() + "@" + record.Address() + "/" + record.Owner() + "?sslmode=disable",
		"silent": "postgres:///" + record.Owner(),
	}
	for name, dsn := range documents {
		s.write(t, "pipelines/"+name+".yaml", "name: "+name+"\nsources: {in: {postgres: {dsn: \""+dsn+"\", table: waymark.runs, order_by: [run]}}}\n"+
			"sinks: {out: {jsonl: {path: out/"+name+".jsonl}}}\n")
	}
	config := s.config(s.address(t))
	config.Landscape = "postgres://" + record.Owner() + "@" + record.Address() + "/" + record.Owner() + "?sslmode=disable"
	fails := func(pipeline, id, says string) {
		t.Helper()
		err := s.run(t, s.client, id, map[string]any{"pipeline": pipeline}).Get(t.Context(), nil)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), record.Password())
	}
	p := begin(t, config, daemon.Program{}, nil)
	p.said(t, "working")
	fails("theirs", "a1", theirs.Addr().String()+" is no public address with Postgres' port 5432: if documents may use it, the operator allows it with --allow-network")
	fails("record", "a2", "is no public address with Postgres' port 5432")
	calls, _ := theirs.told()
	require.Zero(t, calls)
	p.end(t)

	config.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	p = begin(t, config, daemon.Program{}, nil)
	p.said(t, "working")
	const none = "the dsn has no password, and a worker lends documents none"
	fails("theirs", "b1", none)
	fails("record", "b2", none)
	calls, heard := theirs.told()
	require.Positive(t, calls)
	require.Contains(t, heard, "somebody")
	require.False(t, strings.Contains(heard, record.Password()), "the worker's password is sent to a server of somebody else")
	fails("silent", "b3", "dsn: it names no host, and a worker lends documents nothing of its environment")
	p.end(t)
}
