package object

import (
	"net"
	"net/http"
	"time"
	"waymark/plugin/egress"
)

// Limits of every exchange with a server, so that a slow or hostile one cannot hang a run. Source: docs/sources.md.
const (
	dialTimeout    = 10 * time.Second
	tlsTimeout     = 10 * time.Second
	replyTimeout   = 30 * time.Second // until the first byte of the reply
	idleTimeout    = 30 * time.Second // between two bytes of a body
	slowTimeout    = 2 * time.Minute  // in which a body brings at least slowBytes
	slowBytes      = 4 << 10
	maxHeaderBytes = 64 << 10
)

// newClient returns a client that follows no redirect. With a guard it dials what the guard permits and uses no proxy; without
// one it is for addresses that the operator configured. names resolves host names; nil is the host's way.
func newClient(g *egress.Guard, names *net.Resolver) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Resolver: names}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: tlsTimeout, ForceAttemptHTTP2: true,
		ResponseHeaderTimeout: replyTimeout, MaxResponseHeaderBytes: maxHeaderBytes, IdleConnTimeout: 30 * time.Second,
		MaxIdleConnsPerHost: 16, DisableCompression: true,
	}
	if g != nil {
		dialer.ControlContext = g.Control
	} else {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
