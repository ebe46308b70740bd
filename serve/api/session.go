package api

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"waymark/client"
	"waymark/landscape"
	"waymark/serve/oidc"
	"waymark/serve/ui"
)

// How long a session lasts, how long it lasts while nobody uses it, and how many somebody has at most.
const (
	sessionTime = 12 * time.Hour
	sessionIdle = time.Hour
	mostSession = 20
)

// sessionCookie is the name of the cookie that holds the key of a session.
const sessionCookie = "waymark"

// hostPrefix begins the names of cookies that a browser takes only from the host itself, by TLS, and for all its paths:
// no neighbour in the domain, and nobody on the way, can put one of theirs in its place.
const hostPrefix = "__Host-"

// tls reports whether the browser asked by TLS: this server, a proxy that says so, or the one that the issuer sends
// people back to. A stranger who claims that only gets cookies that his own browser does not send in clear text.
func (c *call) tls() bool {
	forwarded, _, _ := strings.Cut(c.Header.Get("X-Forwarded-Proto"), ",")
	return c.TLS != nil || strings.EqualFold(strings.TrimSpace(forwarded), "https") ||
		strings.HasPrefix(c.Header.Get("Origin"), "https://") ||
		strings.HasPrefix(c.route.path, signInPath) && strings.HasPrefix(c.server.Issuer.Redirect, "https://")
}

// setCookie gives the browser a cookie that scripts do not see. An empty value takes it away, under both of its names.
func (c *call) setCookie(cookie http.Cookie) {
	cookie.HttpOnly, cookie.Secure = true, c.tls()
	if cookie.Value == "" {
		cookie.MaxAge = -1
		other := cookie
		other.Name, other.Path, other.Secure = hostPrefix+cookie.Name, "/", true
		http.SetCookie(c.w, &other)
		cookie.Secure = false
	}
	if cookie.Secure {
		cookie.Name, cookie.Path = hostPrefix+cookie.Name, "/"
	}
	http.SetCookie(c.w, &cookie)
}

// cookieOf returns the value of a cookie that setCookie set; empty for none. One for any host does not count where
// those for this one alone can be had.
func (c *call) cookieOf(name string) string {
	found, err := c.Cookie(hostPrefix + name)
	if err != nil && !c.tls() {
		found, err = c.Cookie(name)
	}
	if err != nil {
		return ""
	}
	return found.Value
}

// A session is somebody who signed in to the pages: with an access token, which is asked for again at each request, so that it can be revoked, or at the
// issuer, until the token that it gave expires.
type session struct {
	of          string       // as callerOf names who signed in
	token       string       // empty for somebody who signed in at the issuer
	caller      *oidc.Caller // who did; nil for others
	begun, used time.Time
}

func (s session) over(now time.Time) bool {
	return now.Sub(s.begun) > sessionTime || now.Sub(s.used) > sessionIdle || s.caller != nil && !s.caller.Valid(now)
}

// sessions are those of a Server, by the digests of their keys. They end with the process.
type sessions struct {
	mu sync.Mutex
	of map[[sha256.Size]byte]session
}

// begin makes a session, and returns its key. Of too many sessions of one access token, or of one person of an issuer,
// the one that was used least recently ends: nobody ends those of others.
func (s *sessions) begin(who session, now time.Time) string {
	random := make([]byte, 32)
	_, _ = rand.Read(random)
	key := base64.RawURLEncoding.EncodeToString(random)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[[sha256.Size]byte]session{}
	}
	var oldest [sha256.Size]byte
	own := 0
	for digest, other := range s.of {
		switch first, known := s.of[oldest]; {
		case other.over(now):
			delete(s.of, digest)
		case other.of != who.of:
		default:
			if own++; !known || other.used.Before(first.used) {
				oldest = digest
			}
		}
	}
	if own >= mostSession {
		delete(s.of, oldest)
	}
	who.begun, who.used = now, now
	s.of[sha256.Sum256([]byte(key))] = who
	return key
}

// use returns a session, and notes that it is used; known is false if there is no such session any more.
func (s *sessions) use(key string, now time.Time) (found session, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	digest := sha256.Sum256([]byte(key))
	found, known = s.of[digest]
	if !known || found.over(now) {
		delete(s.of, digest)
		return session{}, false
	}
	found.used = now
	s.of[digest] = found
	return found, true
}

func (s *sessions) end(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, sha256.Sum256([]byte(key)))
}

// keep gives the browser the key of a session. An empty key takes it away.
func (c *call) keep(key string) {
	c.setCookie(http.Cookie{
		Name: sessionCookie, Value: key, Path: "/", SameSite: http.SameSiteStrictMode,
		MaxAge: int(sessionTime / time.Second),
	})
}

// linkTime is how long a Link can be used.
const linkTime = 10 * time.Minute

// Link is an address with which one person signs in, once, within ten minutes: who began the process, and sees what it prints. What that person may do is
// recorded as an access token, when it is used.
type Link struct {
	code string
	over time.Time
	mu   sync.Mutex
}

// NewLink returns a Link for the actor of the Home of a Server.
func NewLink() *Link { return &Link{code: rand.Text(), over: time.Now().Add(linkTime)} }

// Path is what follows the address of the server.
func (l *Link) Path() string { return "/login?code=" + l.code }

// fits reports whether a code is that of the link, and can still be used. Taken, it cannot any more.
func (l *Link) fits(code string, take bool) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fits := l.code != "" && subtle.ConstantTimeCompare([]byte(code), []byte(l.code)) == 1 && time.Now().Before(l.over)
	if fits && take {
		l.code = ""
	}
	return fits
}

// byLink grants access to who has the code of the server's link.
func (c *call) byLink(code string) (string, error) {
	if !c.server.Link.fits(code, true) {
		if !c.server.mayFail(c.RemoteAddr) {
			return "", tooFast(int(time.Minute/failedLogins/time.Second), "too many requests from this address had codes that do not count")
		}
		return "", problem(http.StatusUnauthorized, badToken, "this link does not count any more: it works once, for ten minutes after the server has begun")
	}
	granted, err := c.server.Home.GrantAccess(c.Context(), client.AccessRequest{
		By: client.By{Why: "signed in with the link that the server printed"}, Name: c.server.Home.Actor, Expires: time.Now().Add(sessionTime),
		Roles: []landscape.Role{landscape.Viewer, landscape.Auditor, landscape.Operator, landscape.Deployer, landscape.Admin},
	})
	if err != nil {
		return "", err
	}
	return granted.Token, nil
}

func loginPage(c *call) (any, error) {
	body := c.server.loginBody(c.query.Get("to"), "")
	if code := c.query.Get("code"); code != "" {
		if !c.server.Link.fits(code, false) {
			body.Why = "This link does not count any more: it works once, for ten minutes after the server has begun."
		} else {
			body.Code, body.As = code, c.server.Home.Actor
		}
	}
	return ui.Page{Title: "Sign in", Body: body}, nil
}

// login begins a session for an access token that counts, or for who has the link that the server printed.
func login(c *call) (any, error) {
	if err := c.parseForm(); err != nil {
		return nil, err
	}
	sent := strings.TrimSpace(c.PostForm.Get("token"))
	if code := c.PostForm.Get("code"); code != "" {
		granted, err := c.byLink(code)
		if err != nil {
			return nil, err
		}
		sent = granted
	}
	token, err := c.known(sent)
	if err != nil {
		return nil, err
	}
	c.token = oidc.Caller{AccessToken: token}
	c.keep(c.server.sessions.begin(session{of: callerOf(c.token), token: sent}, time.Now()))
	return elsewhere(ours(c.PostForm.Get("to"))), nil
}

// ours is the address if it is one of a page of ours, and else that of the first page: nobody is sent to where a stranger says.
func ours(to string) string {
	path, _, _ := strings.Cut(to, "?")
	below := func(page string) bool { return path == page || strings.HasPrefix(path, page+"/") }
	known := slices.ContainsFunc(mainPages, func(page mainPage) bool { return page.To != "/" && below(page.To) })
	if known && !strings.ContainsAny(to, "\\\r\n") {
		return to
	}
	return "/"
}

func logout(c *call) (any, error) {
	c.server.sessions.end(c.cookieOf(sessionCookie))
	c.keep("")
	return elsewhere("/login"), nil
}
