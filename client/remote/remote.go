// Package remote asks a server about runs over its HTTP API, starts them and gives orders to them: for Go programs, and for people who have no
// password of the database. What it returns are the structs of package client.
//
// A request is sent again for a while when the server does not answer or is too busy, but only if it may have been obeyed without harm: reading, an order that
// changes nothing the second time, and a start, which goes under one Idempotency-Key however often it is sent.
package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"waymark/client"
)

// DefaultPatience is how long a request is sent again unless Options say otherwise.
const DefaultPatience = 15 * time.Second

// Options say where a server is, and who asks.
type Options struct {
	URL   string // https://HOST[:PORT], or http:// for a server on this machine
	Token string // an access token, as waymark access grant prints it

	Transport http.RoundTripper // nil for one of its own, which trusts the certificates that this machine trusts
	Patience  time.Duration     // how long a request is sent again, and how long a stream may be cut; 0 for DefaultPatience
}

// Client asks one server. It is safe for concurrent use. What somebody can act on is a *client.Error: one that the server answered wraps its *Problem; of kind
// Interrupted if the context ended, of kind Unavailable if the server does not answer, with the code AnswerLost if nobody knows whether it did what was asked.
type Client struct {
	base     *url.URL
	token    string
	http     *http.Client
	patience time.Duration
	fresh    sync.Map // ids of runs that this Client started: a cluster may not have them on record yet
}

// New returns a Client. It sends nothing. The error is a *client.Error of kind Invalid if a token would travel in the clear, or there is none.
func New(o Options) (*Client, error) {
	base, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	token := strings.TrimSpace(o.Token)
	if err := checkToken(token); err != nil {
		return nil, err
	}
	c := &Client{base: base, token: token, patience: o.Patience}
	if c.patience == 0 {
		c.patience = DefaultPatience
	}
	if o.Transport == nil {
		o.Transport = transport(base.Scheme == "http")
	}
	c.http = &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// String is the address of the server.
func (c *Client) String() string { return c.base.String() }

// parseURL reads the address of a server, and refuses one to which a token would travel in the clear.
func parseURL(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil || base.Hostname() == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, invalid("%.200q is no address of a server: write https://HOST or https://HOST:PORT", text)
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, invalid("the address of a server has no user, query or fragment: write https://HOST or https://HOST:PORT, and give the access token by itself")
	case base.Scheme == "http" && !loopback(base.Hostname()):
		return nil, invalid("http://%s is not encrypted, and everybody on the way could read the access token: write https://%[1]s; plain http is for a server on this machine, such as http://127.0.0.1:8686", base.Host)
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	return base, nil
}

// checkToken refuses what no access token can be. The error does not quote it.
func checkToken(token string) error {
	switch {
	case token == "":
		return invalid("there is no access token: somebody with access to the record makes one with waymark access grant")
	case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return invalid("the access token has characters that no access token has: was it copied whole, and nothing else?")
	}
	return nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// errNotHere says that a name leads elsewhere.
var errNotHere = errors.New("it is not on this machine, and plain http is not encrypted")

// transport returns what sends requests; if plain, to this machine alone, whatever a name means.
func transport(plain bool) http.RoundTripper {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	own := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 2 * time.Minute,
		IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
	}
	if plain {
		own.Proxy = nil
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			if host, _, err := net.SplitHostPort(address); err != nil || !loopback(host) {
				return errNotHere
			}
			return nil
		}
	}
	return own
}

func invalid(format string, args ...any) error {
	return &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Message: fmt.Sprintf(format, args...)}
}
