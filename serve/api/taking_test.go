package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhoTakesNothing asks a server for much without a token, and reads none of it: its connection breaks off. Who
// takes something now and then gets all.
func TestWhoTakesNothing(t *testing.T) {
	s, _, _ := asked(t, 0)
	s.patience = 50 * time.Millisecond
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	client, err := new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	require.NoError(t, client.(*net.TCPConn).SetReadBuffer(4<<10)) //nolint:forcetypeassert // as was dialled
	const most = 200
	go func() { // the server does not read all of that either
		_, _ = io.WriteString(client, strings.Repeat("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n", most))
	}()
	require.NoError(t, client.SetReadDeadline(time.Now().Add(time.Minute)))
	time.Sleep(4 * s.patience)
	var got bytes.Buffer
	_, err = io.Copy(&got, client)
	require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "the server waits for ever")
	require.Less(t, bytes.Count(got.Bytes(), []byte("HTTP/1.1 200 OK")), most)
	end()
	require.NoError(t, <-served)

	near, far := net.Pipe()
	text := bytes.Repeat([]byte("x"), 5*mostAtOnce+1)
	go func() {
		written, err := takingConn{near, 200 * time.Millisecond}.Write(text)
		if err == nil && written == len(text) {
			_ = near.Close()
		}
	}()
	got.Reset()
	part := make([]byte, mostAtOnce)
	for more := true; more; {
		n, err := io.ReadFull(far, part)
		got.Write(part[:n])
		more = err == nil
		time.Sleep(60 * time.Millisecond)
	}
	require.Equal(t, text, got.Bytes())
}
