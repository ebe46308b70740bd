//go:build linux

package silent

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"waymark/tests/services"
)

const soon = 500 * time.Millisecond

// TestNobodyAnswers has the network between two ends of a connection carry nothing any more, while one waits for the
// answer to what it sent, and while it waits without having sent anything. Both are told.
func TestNobodyAnswers(t *testing.T) {
	for name, sends := range map[string]string{"an answer": "another question", "anything": ""} {
		t.Run(name, func(t *testing.T) {
			network := newNetwork(t)
			conn := network.ask()
			network.cut()
			_, err := conn.Write([]byte(sends))
			require.NoError(t, err)
			began := time.Now()
			require.NoError(t, conn.SetReadDeadline(began.Add(time.Minute)))
			_, err = conn.Read(make([]byte, 1))
			require.ErrorIs(t, err, syscall.ETIMEDOUT)
			require.Less(t, time.Since(began), 30*time.Second)
		})
	}
}

// TestWhoComputesIsAwaited: an end that says nothing for long, and is there, is no end that is gone.
func TestWhoComputesIsAwaited(t *testing.T) {
	conn := newNetwork(t).ask()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(3*soon)))
	_, err := conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestControlIsAskedFirst(t *testing.T) {
	refusal := errors.New("not there")
	_, err := Dialer(soon, func(context.Context, string, string, syscall.RawConn) error { return refusal }).
		DialContext(t.Context(), "tcp", "127.0.0.1:1")
	require.ErrorIs(t, err, refusal)
}

func TestSocketsOfThisMachine(t *testing.T) {
	at := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", at)
	require.NoError(t, err)
	defer listener.Close()
	conn, err := Dialer(soon, nil).DialContext(t.Context(), "unix", at)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// network is a network of the test's own goroutine. In it a server accepts connections and never answers.
type network struct {
	t       *testing.T
	address string
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	runtime.LockOSThread() // for good: the thread ends with the goroutine of the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		services.Missing(t, "a kernel that gives this test a network of its own", "run it as root")
	}
	n := &network{t: t}
	n.link("up")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	n.address = listener.Addr().String()
	return n
}

// ask returns a connection to the server, on which a question was sent.
func (n *network) ask() net.Conn {
	n.t.Helper()
	conn, err := Dialer(soon, nil).DialContext(n.t.Context(), "tcp", n.address)
	require.NoError(n.t, err)
	n.t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte("a question"))
	require.NoError(n.t, err)
	return conn
}

// cut has the network carry nothing any more.
func (n *network) cut() { n.link("down") }

func (n *network) link(state string) {
	n.t.Helper()
	out, err := exec.Command("ip", "link", "set", "lo", state).CombinedOutput()
	require.NoError(n.t, err, string(out))
}
