// Package connections keeps strangers from using up the files that a process may have open, by connections: the process
// has others to open, of its record and to its services.
package connections

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// mostOpen is how many connections a Listener has open at most, whatever the process may have open.
const mostOpen = 4096

// Listener accepts a limited number of connections, and half as many of one address: behind a proxy, all have that of
// the proxy. When there are more, the one that has waited for its next request for longest is closed; if none waits,
// the new one is. So those who send requests always get in, however many others only hold connections.
type Listener struct {
	net.Listener
	most    int
	mu      sync.Mutex
	open    int
	of      map[string]int // open ones, by address
	waiting *list.List     // of *conn, those that began to wait first in front
}

// Limit returns a Listener for a server, which has no ConnState yet. The Listener has at most one part in so many of the
// files that the process may have open.
func Limit(server *http.Server, listener net.Listener, part int) *Listener {
	most := mostOpen
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		most = int(min(uint64(files.Cur)/uint64(part), mostOpen)) //nolint:gosec,unconvert // at most mostOpen; signed elsewhere
	}
	l := limited(listener, most)
	server.ConnState = l.state
	return l
}

func limited(listener net.Listener, most int) *Listener {
	return &Listener{Listener: listener, most: max(most, 2), of: map[string]int{}, waiting: list.New()}
}

// A conn is a connection that counts until it is closed.
type conn struct {
	net.Conn
	listener *Listener
	address  string
	waits    *list.Element // nil while it has a request; guarded by the mutex of the Listener
	gone     bool          // it does not count any more; guarded as well
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address, _, err := net.SplitHostPort(accepted.RemoteAddr().String())
		if err != nil {
			address = accepted.RemoteAddr().String()
		}
		c := &conn{Conn: accepted, listener: l, address: address}
		closed, enters := l.enter(c)
		if closed != nil {
			_ = closed.Conn.Close()
		}
		if enters {
			return c, nil
		}
		_ = accepted.Close()
	}
}

// enter counts a connection, if it may be there, and returns the one that has to be closed for it; nil for none.
func (l *Listener) enter(c *conn) (closed *conn, enters bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	crowded := l.of[c.address] >= l.most/2
	if crowded || l.open >= l.most {
		for e := l.waiting.Front(); e != nil && closed == nil; e = e.Next() {
			if other := e.Value.(*conn); !crowded || other.address == c.address { //nolint:forcetypeassert // as waiting says
				closed = other
			}
		}
		if closed == nil {
			return nil, false
		}
		l.leave(closed)
	}
	l.open++
	l.of[c.address]++
	c.waits = l.waiting.PushBack(c)
	return closed, true
}

// leave lets a connection count no more.
func (l *Listener) leave(c *conn) {
	if c.gone {
		return
	}
	c.gone = true
	l.open--
	if l.of[c.address]--; l.of[c.address] == 0 {
		delete(l.of, c.address)
	}
	l.busy(c)
}

func (l *Listener) busy(c *conn) {
	if c.waits != nil {
		l.waiting.Remove(c.waits)
		c.waits = nil
	}
}

// state notes whether a connection waits for a request, as the ConnState of an http.Server.
func (l *Listener) state(of net.Conn, state http.ConnState) {
	c := underlying(of)
	if c == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy(c)
	if !c.gone && (state == http.StateNew || state == http.StateIdle) {
		c.waits = l.waiting.PushBack(c)
	}
}

// underlying returns the connection that was accepted, of one that others have wrapped.
func underlying(of net.Conn) *conn {
	for {
		switch c := of.(type) {
		case *conn:
			return c
		case interface{ NetConn() net.Conn }: // as that of TLS
			of = c.NetConn()
		default:
			return nil
		}
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.leave(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
