package object

import (
	"net"
	"net/http"
	"time"
	"waymark/plugin/egress"
)

// Limits of every exchange with a server, so that a slow or hostile one cannot hang a run. Source: docs/sources.md.
const (
	dialPatience   = 10 * time.Second
	tlsPatience    = 10 * time.Second
	replyPatience  = 30 * time.Second // until the first byte of the reply
	idlePatience   = 30 * time.Second // between two bytes of a body
	slowPatience   = 2 * time.Minute  // in which a body brings at least slowBytes
	slowBytes      = 4 << 10
	maxHeaderBytes = 64 << 10
)

// newClient returns a client that follows no redirect. With a guard it dials what the guard permits and uses no proxy; without
// one it is for addresses that the operator configured. names resolves host names; nil is the host's way.
func newClient(g *egress.Guard, names *net.Resolver) *http.Client {
	dialer := &net.Dialer{Timeout: dialPatience, KeepAlive: 30 * time.Second, Resolver: names}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: tlsPatience, ForceAttemptHTTP2: true,
		ResponseHeaderTimeout: replyPatience, MaxResponseHeaderBytes: maxHeaderBytes, IdleConnTimeout: 30 * time.Second,
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
