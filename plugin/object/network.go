package object

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
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

// refused are the addresses that no document reaches by itself: they are inside of somebody's network, lead there, or are
// nobody's. Of IPv6, only what is handed out (2000::/3) is open at all. Source: IANA special-purpose address registries.
var refused = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

var handedOut = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// DeniedError says that a document led to an address that the operator did not allow. No retry cures it.
type DeniedError struct {
	Address string // host and port, resolved
}

// Error names the address and the cure.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s is no public web address: if documents may use it, the operator allows it with --allow-network", e.Address)
}

// guard decides by the address that a name was resolved to, when it is dialled, so that no name, redirect or second answer of a
// name server leads around it.
type guard struct {
	allowed []netip.Prefix // these with any port
}

// control has the type of net.Dialer.ControlContext.
func (g guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !g.permits(at) {
		return &DeniedError{address}
	}
	return nil
}

func (g guard) permits(at netip.AddrPort) bool {
	ip := at.Addr().Unmap().WithZone("")
	in := func(p netip.Prefix) bool { return p.Contains(ip) }
	if slices.ContainsFunc(g.allowed, in) {
		return true
	}
	if at.Port() != 80 && at.Port() != 443 || at.Addr().Zone() != "" || ip.Is6() && !handedOut.Contains(ip) {
		return false
	}
	return !slices.ContainsFunc(refused, in)
}

// newClient returns a client that follows no redirect. With a guard it dials what the guard permits and uses no proxy; without
// one it is for addresses that the operator configured. names resolves host names; nil is the host's way.
func newClient(g *guard, names *net.Resolver) *http.Client {
	dialer := &net.Dialer{Timeout: dialPatience, KeepAlive: 30 * time.Second, Resolver: names}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: tlsPatience, ForceAttemptHTTP2: true,
		ResponseHeaderTimeout: replyPatience, MaxResponseHeaderBytes: maxHeaderBytes, IdleConnTimeout: 30 * time.Second,
		MaxIdleConnsPerHost: 16, DisableCompression: true,
	}
	if g != nil {
		dialer.ControlContext = g.control
	} else {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
