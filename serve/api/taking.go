package api

import (
	"net"
	"time"
)

// slowest is how long a client may take none of what is sent to it. It may take as long as it likes for all.
const slowest = 30 * time.Second

// mostAtOnce is how much of an answer a client has to take in that time.
const mostAtOnce = 64 << 10

// A taking listener has connections that break off when the client takes nothing for some time. A client could
// otherwise, with no token, keep as many answers in memory for ever as it asks for and does not read.
type taking struct {
	net.Listener
	patience time.Duration
}

func (l taking) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return takingConn{conn, l.patience}, nil
}

type takingConn struct {
	net.Conn
	patience time.Duration
}

// NetConn returns what was accepted.
func (c takingConn) NetConn() net.Conn { return c.Conn }

func (c takingConn) Write(all []byte) (written int, err error) {
	for first := true; first || written < len(all); first = false {
		if err := c.SetWriteDeadline(time.Now().Add(c.patience)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(all[written:min(written+mostAtOnce, len(all))])
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}
