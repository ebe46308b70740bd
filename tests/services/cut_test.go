package services_test

import (
	"bufio"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/tests/services"
	"waymark/tests/services/pg"
)

func TestLostReplyOfACommitIsCommitted(t *testing.T) {
	require.Equal(t, 1, commitThrough(t, (*services.Proxy).LoseReply))
}

func TestLostRequestOfACommitIsNot(t *testing.T) {
	require.Equal(t, 0, commitThrough(t, (*services.Proxy).LoseRequest))
}

// commitThrough inserts a row in a transaction whose commit meets with an accident, and returns how many rows there are then.
func commitThrough(t *testing.T, lose func(*services.Proxy, func([]byte) bool)) (rows int) {
	t.Helper()
	db := pg.New(t)
	proxy := services.Cut(t, db.Address())
	lose(proxy, pg.Commit)
	conn := connect(t, db.Through(proxy.Address()))
	_, err := conn.Exec(t.Context(), `create table t (n int)`)
	require.NoError(t, err)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `insert into t values (1)`)
	require.NoError(t, err)
	require.Error(t, tx.Commit(t.Context()))
	require.Equal(t, 1, proxy.Lost())

	again := connect(t, db.Through(proxy.Address())) // only the next match was lost
	require.NoError(t, pgx.BeginFunc(t.Context(), again, func(tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), `select count(*) from t`).Scan(&rows)
	}))
	return rows
}

func TestEveryLosesEachNthOne(t *testing.T) {
	db := pg.New(t)
	proxy := services.Cut(t, db.Address())
	proxy.LoseReply(pg.Commit)
	proxy.Every(3)
	failed := 0
	conn := connect(t, db.Through(proxy.Address()))
	for range 12 {
		if conn.IsClosed() {
			conn = connect(t, db.Through(proxy.Address()))
		}
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		if tx.Commit(t.Context()) != nil {
			failed++
		}
	}
	require.Equal(t, 4, failed)
	require.Equal(t, 4, proxy.Lost())
}

func TestCommitIsFoundInPieces(t *testing.T) {
	server, said := listen(t)
	proxy := services.Cut(t, server)
	proxy.LoseRequest(pg.Commit)
	conn, err := net.Dial("tcp", proxy.Address())
	require.NoError(t, err)
	defer conn.Close()
	for _, piece := range []string{"before", "Q\x00\x00", "\x00\x0bCom", "mit"} {
		_, err = io.WriteString(conn, piece)
		require.NoError(t, err)
		for got := ""; got != piece; got += <-said { // each piece continues alone
		}
	}
	_, err = io.WriteString(conn, "\x00")
	require.NoError(t, err)
	_, err = io.ReadAll(conn)
	require.NoError(t, err, "the connection is closed")
	_, more := <-said
	require.False(t, more, "the last piece did not go on")
}

// listen accepts one connection, never answers, and passes on what comes byte by byte until the end.
func listen(t *testing.T) (address string, said <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for in := bufio.NewReader(conn); ; {
			b, err := in.ReadByte()
			if err != nil {
				return
			}
			out <- string(b)
		}
	}()
	return l.Addr().String(), out
}

func TestCommitMatches(t *testing.T) {
	message := func(kind byte, text string) []byte {
		return append([]byte{kind, 0, 0, 0, byte(4 + len(text) + 1)}, text+"\x00"...)
	}
	for name, c := range map[string]struct {
		request []byte
		want    bool
	}{
		"pgx":                  {message('Q', "commit"), true},
		"psql":                 {message('Q', "COMMIT;"), true},
		"after other messages": {append(message('Q', "select 1"), message('Q', "commit")...), true},
		"another statement":    {message('Q', "rollback"), false},
		"part of a statement":  {message('Q', "insert into t values ('commit')"), false},
		"not whole":            {message('Q', "commit")[:9], false},
		"a value":              {message('D', "commit"), false},
		"nothing":              {nil, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, pg.Commit(c.request)) })
	}
}

func TestHTTPReplyIsLostAfterTheBodyCame(t *testing.T) {
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			bodies = append(bodies, string(body))
		}
	}))
	defer server.Close()
	proxy := services.Cut(t, strings.TrimPrefix(server.URL, "http://"))
	proxy.LoseReply(func(request []byte) bool { return strings.HasPrefix(string(request), "PUT /thing ") })

	put := func() error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+proxy.Address()+"/thing", strings.NewReader("whole"))
		require.NoError(t, err)
		request.Header.Set("Expect", "100-continue")
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, ExpectContinueTimeout: -1}}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	require.Error(t, put())
	require.NoError(t, put())
	require.Equal(t, []string{"whole", "whole"}, bodies)
	require.Equal(t, 1, proxy.Lost())
}

func TestBreakClosesWhatIsOpen(t *testing.T) {
	server, said := listen(t)
	proxy := services.Cut(t, server)
	conn, err := net.Dial("tcp", proxy.Address())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "x")
	require.NoError(t, err)
	require.Equal(t, "x", <-said)
	proxy.Break()
	_, err = io.ReadAll(conn)
	require.NoError(t, err)
}

// TestDelay: what is sent through a proxy with a delay arrives whole and in order, and an answer comes later.
func TestDelay(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	const roundTrip = 20 * time.Millisecond
	proxy := services.Cut(t, l.Addr().String())
	proxy.Delay(roundTrip)
	conn, err := net.Dial("tcp", proxy.Address())
	require.NoError(t, err)
	defer conn.Close()
	for _, bytes := range []int{1, 10_000_000} {
		sent, got, began := []byte(rand.Text()), make([]byte, bytes), time.Now()
		sent = slices.Repeat(sent, bytes/len(sent)+1)[:bytes]
		go func() { _, _ = conn.Write(sent) }()
		_, err = io.ReadFull(conn, got)
		require.NoError(t, err)
		require.True(t, slices.Equal(sent, got))
		require.GreaterOrEqual(t, time.Since(began), roundTrip)
	}
}
