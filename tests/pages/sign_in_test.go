package pages_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/serve/oidc"
	"waymark/tests/browser"
	"waymark/tests/issuer"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

// signingIn are the flags of a server that takes tokens of an issuer, and lets people sign in there.
func signingIn(t *testing.T, provider *issuer.Issuer) []string {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(issuer.Secret+"\n"), 0o600))
	return append(provider.Flags(), "--oidc-client-id", issuer.ClientID, "--oidc-client-secret-file", secret)
}

// newPerson is somebody with a browser of his own.
func (s *pageServer) newPerson(t *testing.T) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &person{&http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, s}
}

// agrees begins to sign in, agrees at the issuer, and returns the path to which that sends him back.
func (p *person) agrees(t *testing.T, claims issuer.Claims, to string) string {
	t.Helper()
	p.s.Issuer.SignIn(claims)
	answer, _ := p.get(t, "/login/oidc?"+url.Values{"to": {to}}.Encode())
	require.Equal(t, http.StatusSeeOther, answer.StatusCode)
	require.True(t, strings.HasPrefix(answer.Header.Get("Location"), p.s.Issuer.URL+"/authorize?"))
	cookie := answer.Header.Get("Set-Cookie")
	require.Contains(t, cookie, "HttpOnly; SameSite=Lax")
	sent, err := p.Post(answer.Header.Get("Location"), "application/x-www-form-urlencoded", http.NoBody)
	require.NoError(t, err)
	require.NoError(t, sent.Body.Close())
	require.Equal(t, http.StatusFound, sent.StatusCode)
	path, ours := strings.CutPrefix(sent.Header.Get("Location"), p.s.URL)
	require.True(t, ours, "%s", sent.Header.Get("Location"))
	return path
}

// signInAtIssuer signs in somebody with claims.
func (s *pageServer) signInAtIssuer(t *testing.T, claims issuer.Claims) *person {
	t.Helper()
	p := s.newPerson(t)
	answer, text := p.get(t, p.agrees(t, claims, "/runs"))
	require.Equal(t, http.StatusOK, answer.StatusCode, text)
	require.Equal(t, "0; url=/runs", answer.Header.Get("Refresh"))
	return p
}

// signsInAtIssuer signs people in at an issuer, and nobody else.
func (s *pageServer) signsInAtIssuer(t *testing.T) {
	ann := issuer.Claims{"sub": "ann", "email": "ann@example.com", "groups": []string{"auditor", "operator"}}
	name := "ann@example.com (" + s.Issuer.URL + "#ann)"
	p := s.newPerson(t)
	_, text := p.get(t, "/runs?status=running")
	require.Contains(t, text, `href="/login/oidc?to=%2fruns%3fstatus%3drunning"`)
	path := p.agrees(t, ann, "/runs?status=running")
	answer, text := s.newPerson(t).get(t, path)
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "another browser has not the cookie")
	require.Contains(t, text, "begun in another browser")
	answer, _ = p.get(t, path)
	require.Equal(t, http.StatusOK, answer.StatusCode, "and nobody there keeps this one from signing in")

	path = p.agrees(t, ann, "/runs?status=running")
	answer, text = p.get(t, path+"&authuser=0")
	require.Equal(t, http.StatusOK, answer.StatusCode, text)
	require.Equal(t, "0; url=/runs?status=running", answer.Header.Get("Refresh"))
	cookies := strings.Join(answer.Header.Values("Set-Cookie"), "\n")
	require.Contains(t, cookies, "HttpOnly; SameSite=Strict")
	require.Contains(t, cookies, "waymark-sign-in=; Path=/login; Max-Age=0")
	parsed(t, path, text)
	_, text = p.get(t, "/runs")
	require.Contains(t, text, name)
	answer, _ = p.get(t, path)
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "it works once")
	answer, _ = p.get(t, "/access")
	require.Equal(t, http.StatusForbidden, answer.StatusCode, "he is no admin")
	answer, _ = p.get(t, "/runs/"+s.ordersRun+"/explain?row=1")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	shown := serving.Listed[client.Disclosure](t, s.Server, "access", "disclosures", "--limit", "1")
	require.Equal(t, []string{name, s.ordersRun}, []string{shown[0].Actor, shown[0].Run})
	answer, _ = p.post(t, "/pipelines/orders/run", url.Values{"pipeline": {"orders"}, "run": {"of-ann"}, "why": {"to see"}})
	require.Equal(t, http.StatusSeeOther, answer.StatusCode)
	require.Contains(t, s.Waymark(t, "starts", "--json"), name)
	answer, _ = p.post(t, "/logout", nil)
	require.Equal(t, http.StatusSeeOther, answer.StatusCode)
	answer, _ = p.get(t, "/runs")
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)

	for _, to := range []string{"//evil.example", "https://evil.example", "/\\evil.example", "/runs/\\evil", "/login/oidc", "/runs\r\nSet-Cookie: x=y", ""} {
		answer, _ = p.get(t, p.agrees(t, ann, to))
		require.Equal(t, "0; url=/", answer.Header.Get("Refresh"), to)
	}
	answer, text = p.get(t, p.agrees(t, issuer.Claims{"groups": "hr"}, "/"))
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
	require.Contains(t, text, "has no role here: the token has the claim groups with [&#34;hr&#34;]")
	answer, text = p.get(t, oidc.CallbackPath+"?error=access_denied&error_description=%3Cb%3E&state=x")
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	require.NotContains(t, text, "<b>")

	ends := time.Now().Add(shortSession)
	s.short = s.signInAtIssuer(t, issuer.Claims{"groups": "viewer", "exp": ends.Unix()})
	if answer, _ = s.short.get(t, "/runs"); time.Now().Before(ends.Add(-time.Second)) {
		require.Equal(t, http.StatusOK, answer.StatusCode)
	}
	s.Nowhere(t, issuer.Secret)
}

// shortSession is how long the token of a person counts who signs in and stays until all else has been looked at.
const shortSession = 12 * time.Second

// shortEnds waits until the session of that person ends with the token.
func (s *pageServer) shortEnds(t *testing.T) {
	require.Eventually(t, func() bool {
		answer, text := s.short.get(t, "/runs")
		return answer.StatusCode == http.StatusUnauthorized && strings.Contains(text, "your session is over")
	}, patience, 100*time.Millisecond)
}

// personOfIssuer signs in with a real browser, for which the issuer is another site.
func (s *pageServer) personOfIssuer(t *testing.T) {
	sample.Rarely(t)
	s.Issuer.SignIn(issuer.Claims{"sub": "ann", "email": "ann@example.com", "groups": []string{"viewer"}})
	window := browser.Open(t, 1280, 900)
	complaints := window.Complaints(t)
	window.Do(t, chromedp.Navigate(s.URL+"/runs/"+s.ordersRun))
	window.Await(t, "Sign in at localhost")
	window.Shot(t, "sign-in-at-issuer")
	window.Press(t, "Sign in at "+strings.TrimPrefix(s.Issuer.URL, "http://"))
	window.Press(t, "Agree")
	window.Await(t, "all accounts balance", "ann@example.com")
	require.Equal(t, s.URL+"/runs/"+s.ordersRun, window.Evaluate(t, "location.href"))
	window.Press(t, "Sign out")
	window.Await(t, "Sign in at localhost")
	require.Empty(t, serious(complaints()))
}
