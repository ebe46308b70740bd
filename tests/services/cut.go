package services

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// windowBytes is how much of a long request is shown to a match again when more of it comes.
const windowBytes = 64 << 10

// Proxy passes TCP connections on to a service, and loses what it is told to lose, at exact moments.
type Proxy struct {
	listener net.Listener
	target   string
	delay    time.Duration // of each direction
	silent   sync.RWMutex  // locked while nothing is passed on

	mu          sync.Mutex
	match       func(request []byte) bool // nil: nothing is lost
	reply       bool                      // what is lost: the reply, or the request
	every, seen int
	lost        int
	open        map[net.Conn]bool
}

// Cut returns a proxy before the service at address. It ends with the test.
func Cut(t testing.TB, address string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{listener: l, target: address, open: map[net.Conn]bool{}}
	var done sync.WaitGroup
	done.Go(func() { p.accept(&done) })
	t.Cleanup(func() {
		_ = l.Close() // nothing more is accepted
		p.Break()
		done.Wait()
	})
	return p
}

// Address is where the proxy listens, as host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// LoseReply loses the answer to the next request that match is true for: the request is passed on, the service does what it says and
// answers; the answer is dropped, and the connection closed on both sides. What a client sends until it is answered is a request; match
// sees as much of it as there is, and sees it again when there is more. match must be safe for concurrent use.
func (p *Proxy) LoseReply(match func(request []byte) bool) { p.lose(match, true) }

// LoseRequest loses the next request that match is true for: what is there of it is not passed on, and the connection is closed.
func (p *Proxy) LoseRequest(match func(request []byte) bool) { p.lose(match, false) }

func (p *Proxy) lose(match func([]byte) bool, reply bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match, p.reply, p.every, p.seen = match, reply, 0, 0
}

// Every changes what LoseReply or LoseRequest said: not only the next request that matches is lost, but every n-th one until Heal.
func (p *Proxy) Every(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.every = n
}

// Silence passes nothing on until the function that it returns is called. No connection ends, and nothing is lost.
func (p *Proxy) Silence() (over func()) {
	p.silent.Lock()
	return p.silent.Unlock
}

// Delay has everything arrive later, as on a longer way: an answer to what is sent comes so much later. However much is
// sent takes no longer than before. It is called before the first connection.
func (p *Proxy) Delay(roundTrip time.Duration) { p.delay = roundTrip / 2 }

// late is an end of a connection at which what is written arrives later.
type late struct {
	to     net.Conn
	delay  time.Duration
	pieces chan piece    // not there yet; nil: nothing is late
	done   chan struct{} // closed when all has arrived
}

type piece struct {
	due  time.Time
	data []byte
}

// maxLate is how many pieces are on the way at once: 64 MB, in large ones.
const maxLate = 1 << 10

func (p *Proxy) late(to net.Conn) *late {
	l := &late{to: to, delay: p.delay}
	if p.delay > 0 {
		l.pieces, l.done = make(chan piece, maxLate), make(chan struct{})
		go l.deliver()
	}
	return l
}

// deliver writes what is due. An end that takes nothing more is closed, so that the other direction ends as well.
func (l *late) deliver() {
	defer close(l.done)
	var failed error
	for p := range l.pieces {
		if failed == nil {
			time.Sleep(time.Until(p.due))
			if _, failed = l.to.Write(p.data); failed != nil {
				_ = l.to.Close() // it may be closed already
			}
		}
	}
}

// Write sends a copy on its way.
func (l *late) Write(data []byte) (int, error) {
	if l.pieces == nil {
		return l.to.Write(data)
	}
	l.pieces <- piece{time.Now().Add(l.delay), bytes.Clone(data)}
	return len(data), nil
}

// arrived returns when everything has arrived. Nothing is written afterwards.
func (l *late) arrived() {
	if l.pieces != nil {
		close(l.pieces)
		<-l.done
	}
}

// await waits while the proxy is silent.
func (p *Proxy) await() {
	p.silent.RLock()
	defer p.silent.RUnlock()
}

// Heal ends all losses.
func (p *Proxy) Heal() { p.lose(nil, false) }

// Lost returns how many requests and replies were lost.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Break closes all connections that there are.
func (p *Proxy) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		_ = conn.Close() // it may be closed already
	}
}

func (p *Proxy) accept(done *sync.WaitGroup) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil { // a service that is down refuses; a proxy can only close
			_ = client.Close()
			continue
		}
		l := &link{proxy: p, client: client, server: server}
		p.keep(client, server)
		done.Go(func() { l.requests(); l.close() })
		done.Go(func() { l.replies(); l.close() })
	}
}

func (p *Proxy) keep(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.open[c] = true
	}
}

// fate says what becomes of a request.
type fate int

const (
	pass fate = iota
	counted
	loseRequest
	loseReply
)

func (p *Proxy) judge(request []byte) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.match == nil || !p.match(request) {
		return pass
	}
	p.seen++
	switch {
	case p.every > 0 && p.seen%p.every != 0:
		return counted
	case p.every == 0:
		p.match = nil
	}
	p.lost++
	if p.reply {
		return loseReply
	}
	return loseRequest
}

// link is one connection through a proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn

	mu      sync.Mutex
	request []byte // what came since the last answer
	judged  bool   // it matched already
	doomed  bool   // its answer is to be lost
}

func (l *link) close() {
	_ = l.client.Close() // they may be closed already
	_ = l.server.Close()
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	delete(l.proxy.open, l.client)
	delete(l.proxy.open, l.server)
}

func (l *link) requests() {
	to, buf := l.proxy.late(l.server), make([]byte, windowBytes)
	defer to.arrived()
	for {
		n, err := l.client.Read(buf)
		l.proxy.await()
		if n > 0 && !l.passes(buf[:n]) {
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// passes reports whether a piece of a request may go on to the server.
func (l *link) passes(piece []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.judged || l.doomed {
		return true
	}
	l.request = append(l.request[max(0, len(l.request)-windowBytes):], piece...)
	switch l.proxy.judge(l.request) {
	case loseRequest:
		return false
	case loseReply:
		l.doomed = true
	case counted:
		l.judged = true
	case pass:
	}
	return true
}

func (l *link) replies() {
	to, buf := l.proxy.late(l.client), make([]byte, windowBytes)
	defer to.arrived()
	for {
		n, err := l.server.Read(buf)
		l.proxy.await()
		passed := l.answers(buf[:n])
		if _, failed := to.Write(buf[:passed]); err != nil || failed != nil || passed < n {
			return
		}
	}
}

// answers returns how much of an answer may go on to the client.
func (l *link) answers(answer []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := interim(answer)
	if first == len(answer) {
		return first
	}
	l.request, l.judged = l.request[:0], false
	if l.doomed {
		return first
	}
	return len(answer)
}

// interim returns the length of the HTTP answers after which another one follows.
func interim(answer []byte) int {
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 1")) {
		return 0
	}
	const end = "\r\n\r\n"
	return bytes.Index(answer, []byte(end)) + len(end)
}
