package connections

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A listener accepts connections that a test makes.
type listener struct {
	net.Listener
	come chan net.Conn
}

func (l listener) Accept() (net.Conn, error) {
	c, more := <-l.come
	if !more {
		return nil, net.ErrClosed
	}
	return c, nil
}

// from is a connection from an address.
type from struct {
	net.Conn
	address string
	closed  bool
}

func (f *from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.address), Port: 1} }
func (f *from) Close() error         { f.closed = true; return nil }

// TestLimit: who only waits makes room for who comes, of the same address if that has its half; who has a request keeps
// his place.
func TestLimit(t *testing.T) {
	below := listener{come: make(chan net.Conn, 3)}
	l := limited(below, 4)
	enter := func(address string) (*from, net.Conn) {
		outside := &from{address: address}
		below.come <- outside
		c, err := l.Accept()
		require.NoError(t, err)
		l.state(c, http.StateNew)
		return outside, c
	}
	first, one := enter("10.0.0.1")
	second, two := enter("10.0.0.1")
	third, _ := enter("10.0.0.1")
	require.Equal(t, []bool{true, false, false}, []bool{first.closed, second.closed, third.closed}, "an address has its half")
	require.NoError(t, one.Close(), "once more")
	l.state(two, http.StateActive)
	fourth, _ := enter("10.0.0.1")
	require.Equal(t, []bool{false, true, false}, []bool{second.closed, third.closed, fourth.closed}, "one has a request")

	fifth, five := enter("10.0.0.2")
	sixth, _ := enter("10.0.0.3")
	require.False(t, fourth.closed)
	seventh, _ := enter("10.0.0.4")
	require.Equal(t, []bool{true, false}, []bool{fourth.closed, fifth.closed})
	l.state(five, http.StateActive)
	l.state(five, http.StateIdle)
	enter("10.0.0.5")
	require.Equal(t, []bool{true, false, false}, []bool{sixth.closed, fifth.closed, seventh.closed}, "it waits anew")
	require.Equal(t, 4, l.open)

	full := limited(below, 2)
	keeps := func() net.Conn {
		below.come <- &from{address: "10.0.0.9"}
		c, err := full.Accept()
		require.NoError(t, err)
		full.state(c, http.StateActive)
		return c
	}
	held := keeps()
	late := &from{address: "10.0.0.9"}
	below.come <- late
	close(below.come)
	_, err := full.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	require.True(t, late.closed, "all others have requests")
	require.NoError(t, held.Close())
	require.Zero(t, full.open)
	require.Empty(t, full.of)
	require.Zero(t, full.waiting.Len())
}

// TestWhoSendsGetsIn: a server answers who asks, and goes on with what it has begun, while others hold more connections
// than it may have.
func TestWhoSendsGetsIn(t *testing.T) {
	below, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := limited(below, 8)
	server := &http.Server{ReadHeaderTimeout: time.Minute, ConnState: l.state, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	dial := func(text string) net.Conn {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", below.Addr().String())
		require.NoError(t, err)
		require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
		_, err = io.WriteString(c, text)
		require.NoError(t, err)
		return c
	}
	begun := dial("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
	answer := bufio.NewReader(begun)
	line, err := answer.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue", "its request is there")
	var held []net.Conn
	for range 40 {
		held = append(held, dial("GET"))
		c := dial("GET / HTTP/1.0\r\n\r\n")
		text, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Contains(t, string(text), "200 OK")
		require.NoError(t, c.Close())
	}
	_, err = held[0].Read(make([]byte, 1))
	require.Error(t, err)
	require.False(t, isTimeout(err), "it was closed")
	l.mu.Lock()
	require.LessOrEqual(t, l.open, 4)
	l.mu.Unlock()
	_, err = io.WriteString(begun, "hi")
	require.NoError(t, err)
	text := make([]byte, 4096)
	for got := ""; len(got) < 2 || got[len(got)-2:] != "hi"; {
		n, err := answer.Read(text)
		require.NoError(t, err)
		got += string(text[:n])
	}
	require.NoError(t, begun.Close())
	for _, c := range held {
		require.NoError(t, c.Close())
	}
	require.NoError(t, server.Shutdown(context.WithoutCancel(t.Context())))
	require.ErrorIs(t, <-served, http.ErrServerClosed)
}

func isTimeout(err error) bool {
	timeout, is := errors.AsType[net.Error](err)
	return is && timeout.Timeout()
}
