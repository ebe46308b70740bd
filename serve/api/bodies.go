package api

import (
	"cmp"
	"io"
	"net"
	"net/http"
	"sync"
)

// How many bytes of bodies a Server holds at once: of all requests, of those of strangers, and of those of one caller.
// Nobody who sends much, or slowly, so keeps others from sending theirs.
const (
	mostHeld      = 64 << 20
	mostOfUnknown = mostHeld / 2
	mostOfOne     = mostHeld / 4
)

// heldStep is how much of a body whose length nobody declared is counted at a time.
const heldStep = 32 << 10

// A sender is who sends bodies: a caller by his token, or, of strangers, an address at one path.
type sender struct {
	name  string
	known bool
}

// bodies count the bytes of bodies that a Server holds.
type bodies struct {
	mu           sync.Mutex
	all, unknown int64
	of           map[string]int64 // by the names of senders
}

// take counts bytes of a sender, unless they are too many; less than 0 are given back.
func (b *bodies) take(from sender, bytes int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	unknown := bytes
	if from.known {
		unknown = 0
	}
	if bytes > 0 && (b.all+bytes > mostHeld || b.unknown+unknown > mostOfUnknown || b.of[from.name]+bytes > mostOfOne) {
		return false
	}
	if b.of == nil {
		b.of = map[string]int64{}
	}
	b.all += bytes
	b.unknown += unknown
	if b.of[from.name] += bytes; b.of[from.name] == 0 {
		delete(b.of, from.name)
	}
	return true
}

// A body is that of a request. Its bytes count from when the handler begins to read until the request is answered: all
// that were declared at once, since what is half read of many bodies would be of use to nobody.
type body struct {
	io.ReadCloser
	call       *call
	most       int64
	from       sender // nobody until the handler begins to read
	held, read int64
}

// limited lets the handler of a request read no more of its body than the route takes, and than the Server may hold.
func (c *call) limited() *body {
	most := c.route.mostBody()
	b := &body{ReadCloser: http.MaxBytesReader(c.w, c.Body, most), call: c, most: most}
	c.Body = b
	return b
}

// Read returns a *remote.Problem if the Server holds too much.
func (b *body) Read(p []byte) (n int, err error) {
	declared := b.call.ContentLength
	if b.from.name == "" {
		b.from = b.call.sender()
		err = b.hold(min(max(declared, 0), b.most))
	}
	if err == nil && declared < 0 && b.read == b.held {
		err = b.hold(heldStep)
	}
	if err != nil {
		return 0, err
	}
	if declared < 0 {
		p = p[:min(int64(len(p)), b.held-b.read)]
	}
	n, err = b.ReadCloser.Read(p)
	b.read += int64(n)
	return n, err
}

func (b *body) hold(bytes int64) error {
	if !b.call.server.bodies.take(b.from, bytes) {
		p := problem(http.StatusServiceUnavailable, tooMuchAtOnce, "the server holds too many bodies of requests at this moment")
		p.Cure, p.After = "send it again in a moment", 1
		return p
	}
	b.held += bytes
	return nil
}

// release gives back what the body held.
func (b *body) release() { b.call.server.bodies.take(b.from, -b.held) }

// sender returns who sends the body of a request that was admitted.
func (c *call) sender() sender {
	if name := callerOf(c.token); name != "" {
		return sender{"token " + name, true}
	}
	host, _, _ := net.SplitHostPort(c.RemoteAddr)
	return sender{"address " + host + " " + c.URL.Path, false}
}

// mostBody is how many bytes a body of the route may have.
func (r *route) mostBody() int64 {
	if r.page() {
		return cmp.Or(r.most, mostForm)
	}
	return cmp.Or(r.most, mostBody)
}
