// Package egress decides where in a network documents may lead. A document is trusted less than the operator: by itself it
// reaches public addresses, and what lies inside of somebody's network only if the operator allows it.
package egress

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// rejected are the addresses that no document reaches by itself: they are inside of somebody's network, lead there, or are
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

// Cargo says which secrets a connection carries. The zero value is that of one that carries none.
type Cargo struct {
	Secrets []string // their names
	Held    error    // why they may not leave the process yet; nil if they may
}

// DeniedError says that a document led to an address that the operator did not allow. No retry cures it.
type DeniedError struct {
	Address string // host and port, resolved
	Open    string // what documents may lead to by themselves, for people: public web address
	Why     string // in place of that, what is wrong with what the connection carries, and the cure
	Held    bool   // it carries secrets that may not leave yet
}

// Error names the address and the cure.
func (e *DeniedError) Error() string {
	if e.Why != "" {
		return e.Address + ": " + e.Why
	}
	return fmt.Sprintf("%s is no %s: if documents may use it, the operator allows it with --allow-network", e.Address, e.Open)
}

// Guard decides by the address that a name was resolved to, when it is dialled, so that no name, redirect or second answer of a
// name server leads around it. The zero Guard lets nothing through. It is safe for concurrent use.
type Guard struct {
	allowed []netip.Prefix // these with any port
	ports   []uint16       // public addresses with these
	open    string
	cargo   Cargo
	clear   string // what to write so that the cargo is encrypted; "" if it is
}

// Web returns a Guard of addresses of web servers and S3 endpoints. The networks in allow are open with any port.
func Web(allow []netip.Prefix) Guard {
	return Guard{allowed: allow, ports: []uint16{80, 443}, open: "public web address"}
}

// Inside returns a Guard of the networks in allow alone, with any port.
func Inside(allow []netip.Prefix) Guard {
	return Guard{allowed: allow, open: "address of a network that is allowed"}
}

// Postgres returns a Guard of addresses of Postgres databases. The networks in allow are open with any port.
func Postgres(allow []netip.Prefix) Guard {
	return Guard{allowed: allow, ports: []uint16{5432}, open: "public address with Postgres' port 5432"}
}

// Carrying returns the Guard of connections that carry secrets. cure is what to write so that they are encrypted; "" if
// they are. Those that are not stay in the private networks that are allowed.
func (g Guard) Carrying(cargo Cargo, cure string) Guard {
	g.cargo, g.clear = cargo, cure
	return g
}

// refuse says why a connection may not carry what it would to an address that documents may lead to; nil if it may.
func (g Guard) refuse(at netip.AddrPort) *DeniedError {
	carried := "secret " + strings.Join(g.cargo.Secrets, ", ")
	if len(g.cargo.Secrets) == 0 {
		carried = "a secret"
	}
	switch {
	case g.cargo.Held != nil:
		return &DeniedError{Address: at.String(), Held: true, Why: carried + " is held back: " + g.cargo.Held.Error()}
	case g.clear != "" && !g.private(at.Addr()):
		why := carried + " would go in clear text to a public address: " + g.clear
		return &DeniedError{Address: at.String(), Why: why}
	}
	return nil
}

// private reports whether an address is in a private network that is allowed.
func (g Guard) private(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	in := func(p netip.Prefix) bool { return p.Contains(ip) }
	return slices.ContainsFunc(g.allowed, in) &&
		(ip.Is6() && !handedOut.Contains(ip) || slices.ContainsFunc(refused, in))
}

// Control has the type of net.Dialer.ControlContext. Its error is a *DeniedError.
func (g Guard) Control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !g.Permits(at) {
		return &DeniedError{Address: address, Open: g.open}
	}
	if refusal := g.refuse(at); refusal != nil {
		return refusal
	}
	return nil
}

// Permits reports whether a document may lead to the address.
func (g Guard) Permits(at netip.AddrPort) bool {
	ip := at.Addr().Unmap().WithZone("")
	in := func(p netip.Prefix) bool { return p.Contains(ip) }
	if slices.ContainsFunc(g.allowed, in) {
		return true
	}
	if !slices.Contains(g.ports, at.Port()) || at.Addr().Zone() != "" || ip.Is6() && !handedOut.Contains(ip) {
		return false
	}
	return !slices.ContainsFunc(refused, in)
}
