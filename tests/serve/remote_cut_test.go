package serve_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/tests/fixtures"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

// cutter is a proxy that breaks connections.
type cutter struct {
	net.Listener
	to      string
	answers atomic.Int64 // how many answers are still to be lost, after the server got what was asked
	lost    atomic.Int64 // how many were
	lasts   atomic.Int64 // nanoseconds, for which a connection lasts; 0 for ever
	broken  atomic.Int64 // how many connections ended so
}

// cutting begins to pass connections on to an address.
func cutting(t *testing.T, url string) *cutter {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cutter{Listener: listener, to: strings.TrimPrefix(url, "http://")}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		for {
			near, err := c.Accept()
			if err != nil {
				return
			}
			go c.pass(near)
		}
	}()
	return c
}

func (c *cutter) pass(near net.Conn) {
	far, err := net.Dial("tcp", c.to)
	if err != nil {
		_ = near.Close()
		return
	}
	hangUp := sync.OnceFunc(func() { _, _ = near.Close(), far.Close() })
	defer hangUp()
	if lasts := time.Duration(c.lasts.Load()); lasts > 0 {
		time.AfterFunc(lasts, func() {
			c.broken.Add(1)
			hangUp()
		})
	}
	go func() {
		_, _ = io.Copy(far, near)
		hangUp()
	}()
	part := make([]byte, 4096)
	for {
		n, err := far.Read(part)
		if err != nil {
			return
		}
		if c.answers.Add(-1) >= 0 {
			c.lost.Add(1)
			return
		}
		if _, err := near.Write(part[:n]); err != nil {
			return
		}
	}
}

// TestRemoteCut: however often connections break, a start starts one run, follow sees its end, and the outbox stream has each event once.
func TestRemoteCut(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	var rows strings.Builder
	rows.WriteString("id,kind\n")
	for i := range 300_000 {
		fmt.Fprintf(&rows, "%d,a\n", i)
	}
	h := serveHouse(t, map[string]string{"served.yaml": fixtures.Served, "in.csv": rows.String()})
	proxy := cutting(t, h.url)
	direct := h.url
	h.url = "http://" + proxy.Addr().String()

	watcher, err := remote.New(remote.Options{URL: h.url, Token: h.token})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	told := make(chan client.OutboxEvent, 1000)
	var ended error // of the stream, when told is closed
	go func() {
		defer close(told)
		for e, err := range watcher.Outbox(ctx, client.OutboxFilter{Follow: true}) {
			if err != nil {
				ended = err
				return
			}
			told <- e
		}
	}()

	for n := range 3 {
		proxy.answers.Store(2)
		lost := proxy.lost.Load()
		begun := h.command(t, true, "run", "--pipeline", "served", "--param", fmt.Sprintf("to=out/%d.csv", n), "--detach")
		require.Zero(t, begun.code, begun.err)
		require.GreaterOrEqual(t, proxy.lost.Load()-lost, int64(1), "no answer was lost")
	}
	proxy.answers.Store(0)
	runs := func() []client.Run { return serving.Listed[client.Run](t, h.Server, "runs", "--limit", "0") }
	require.Eventually(t, func() bool { return len(runs()) == 3 }, patience, 50*time.Millisecond)
	require.Len(t, serving.Listed[client.Start](t, h.Server, "starts", "--limit", "0"), 3, "each start was asked for once on record")

	proxy.lasts.Store(int64(150 * time.Millisecond))
	broken := proxy.broken.Load()
	followed := h.command(t, true, "run", "--pipeline", "served", "--param", "to=out/followed.csv")
	require.Zero(t, followed.code, followed.err)
	require.Contains(t, followed.out, "300,000 rows read")
	require.GreaterOrEqual(t, proxy.broken.Load()-broken, int64(2), "no connection was cut while the run was followed")
	again := h.command(t, true, "follow", "last", "--json")
	require.Zero(t, again.code, again.err)
	require.Len(t, runs(), 4)
	for _, run := range runs() {
		require.Zero(t, h.command(t, true, "follow", run.ID).code)
	}

	h.url = direct
	want := serving.Listed[client.OutboxEvent](t, h.Server, "outbox")
	var got []client.OutboxEvent
	for len(got) < len(want) {
		select {
		case e, more := <-told:
			require.True(t, more, "the stream ended: %v", ended)
			got = append(got, e)
		case <-time.After(patience):
			require.FailNow(t, "events are missing", "%d of %d", len(got), len(want))
		}
	}
	for i := range want {
		require.Equal(t, want[i].Position, got[i].Position)
		require.Equal(t, want[i].ID, got[i].ID)
	}
	began := 0
	for _, e := range want {
		if e.Type == landscape.RunStarted {
			began++
		}
	}
	require.Equal(t, 4, began)
}
