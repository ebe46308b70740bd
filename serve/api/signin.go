package api

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"waymark/client"
	"waymark/serve/oidc"
	"waymark/serve/ui"
)

// who returns who asks: by the token of the request, or, for a page, by a session.
func (c *call) who() (oidc.Caller, error) {
	if !c.route.page() {
		scheme, sent, _ := strings.Cut(c.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") { // RFC 9110, section 11.1: in any case
			return oidc.Caller{}, problem(http.StatusUnauthorized, noToken, c.server.tokenHint())
		}
		return c.identified(sent)
	}
	key := c.cookieOf(sessionCookie)
	if key == "" {
		return oidc.Caller{}, problem(http.StatusUnauthorized, noToken, "sign in first")
	}
	session, known := c.server.sessions.use(key, time.Now())
	switch {
	case !known:
		return oidc.Caller{}, problem(http.StatusUnauthorized, badToken, "your session is over: sign in again")
	case session.caller != nil:
		return *session.caller, nil
	}
	token, err := c.known(session.token)
	return oidc.Caller{AccessToken: token}, err
}

// callerOf names who sent a token: the person or service that an issuer knows, with any token, or the token itself.
func callerOf(token oidc.Caller) string { return cmp.Or(token.Subject, token.ID) }

// countsFor is for how long a token is taken to count that was found to. What a revoked one began ends after so long.
const countsFor = 2 * time.Second

// counts returns the problem that the caller's token has come to its end while the request is answered; nil if it
// counts.
func (c *call) counts() error {
	now := time.Now()
	if now.Sub(c.counted) < countsFor {
		return nil
	}
	valid := c.token.Valid(now)
	if valid && c.token.Subject == "" { // the issuer is not asked: its tokens count until they expire
		token, err := c.server.Home.AccessToken(c.Context(), c.token.ID)
		if err != nil {
			return err
		}
		valid = token.Valid(now)
	}
	if !valid {
		return problem(http.StatusUnauthorized, badToken,
			"this access token does not count any more: it has expired, or somebody revoked it")
	}
	c.counted = now
	return nil
}

// tokenHint says what a request without a token lacks.
func (s *Server) tokenHint() string {
	hint := "send an access token: Authorization: Bearer wmk_…; waymark access grant makes one"
	if s.Issuer != nil && s.Issuer.Audience != "" {
		hint += ", and tokens of " + s.Issuer.Issuer + " count"
	}
	return hint
}

// identified returns who sent a token of ours, or of the issuer, if it counts.
func (c *call) identified(sent string) (oidc.Caller, error) {
	if c.server.Issuer != nil && strings.Count(sent, ".") == 2 {
		caller, err := c.server.Issuer.Bearer(c.Context(), sent)
		return caller, c.unless(err)
	}
	token, err := c.known(sent)
	return oidc.Caller{AccessToken: token}, err
}

// unless returns the problem that an error of the issuer is; nil for none.
func (c *call) unless(err error) error {
	if refusal, ok := errors.AsType[*oidc.Refusal](err); ok {
		if !c.server.mayFail(c.RemoteAddr) {
			return tooManyFail()
		}
		return problem(http.StatusUnauthorized, badToken, refusal.Error())
	}
	if not, ok := errors.AsType[*oidc.NotSignedIn](err); ok {
		return problem(http.StatusUnauthorized, badToken, not.Error())
	}
	if nobody, ok := errors.AsType[*oidc.NoRole](err); ok {
		return problem(http.StatusForbidden, forbidden, nobody.Error())
	}
	if away, ok := errors.AsType[*oidc.Away](err); ok {
		c.server.Logger.Warn("the issuer of tokens cannot be asked", "error", away)
		p := problem(http.StatusServiceUnavailable, issuerAway, away.Issuer+" cannot be asked, so nobody knows whether its tokens count; the log of the server says why")
		p.Cure, p.After = "send it again in a moment; access tokens that waymark access grant made count meanwhile", 5
		return p
	}
	return client.UnlessStopped(c.Context(), err)
}

func tooManyFail() error {
	return tooFast(failedWait, "too many requests from this address had access tokens that do not count")
}

// signInPath begins the paths of the pages on which somebody signs in at the issuer.
const signInPath = "/login/oidc"

// signInCookie is the name of the cookie that a browser keeps while somebody signs in at the issuer. It comes along when the issuer sends him back.
const signInCookie = "waymark-sign-in"

// keepSignIn gives the browser the key of a person who signs in. An empty key takes it away.
func (c *call) keepSignIn(key string) {
	c.setCookie(http.Cookie{
		Name: signInCookie, Value: key, Path: "/login", SameSite: http.SameSiteLaxMode,
		MaxAge: int(oidc.SignInTime / time.Second),
	})
}

// loginBody is the page on which somebody signs in, and then goes to an address; why says that he must.
func (s *Server) loginBody(to, why string) ui.Login {
	body := ui.Login{Why: why, To: to}
	if s.Issuer != nil && s.Issuer.SignsIn() {
		body.Issuer = s.Issuer.Host()
	}
	return body
}

// signsIn refuses what only people need who sign in at an issuer, if there is none.
func (c *call) signsIn() error {
	if c.server.Issuer == nil || !c.server.Issuer.SignsIn() {
		return problem(http.StatusNotFound, noRoute, "nobody signs in at an issuer here: that needs --oidc-client-id")
	}
	return nil
}

// beginSignIn sends somebody to the issuer.
func beginSignIn(c *call) (any, error) {
	if err := c.signsIn(); err != nil {
		return nil, err
	}
	redirect := c.server.Issuer.Redirect
	if redirect == "" {
		redirect = map[bool]string{true: "https://", false: "http://"}[c.tls()] + c.Host + oidc.CallbackPath
	}
	address, key, err := c.server.Issuer.Begin(c.Context(), redirect, ours(c.query.Get("to")))
	if err != nil {
		return nil, c.unless(err)
	}
	c.keepSignIn(key)
	return elsewhere(address), nil
}

// endSignIn begins a session for somebody whom the issuer sent back. A browser does not send a cookie that is SameSite=Strict along where another site leads it,
// so a page of ours leads on.
func endSignIn(c *call) (any, error) {
	if err := c.signsIn(); err != nil {
		return nil, err
	}
	key := c.cookieOf(signInCookie)
	c.keepSignIn("")
	answer := oidc.Answer{State: c.query.Get("state"), Code: c.query.Get("code"), Error: c.query.Get("error")}
	caller, to, err := c.server.Issuer.End(c.Context(), key, answer)
	if err != nil {
		return nil, c.unless(err)
	}
	c.token = caller
	c.keep(c.server.sessions.begin(session{of: callerOf(caller), caller: &caller}, time.Now()))
	c.w.Header().Set("Refresh", "0; url="+to)
	return ui.Page{Title: "Signed in", Body: ui.SignedIn{To: to}}, nil
}
