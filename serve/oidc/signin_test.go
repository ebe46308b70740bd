package oidc

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/tests/issuer"
)

const back = "http://127.0.0.1:8686" + CallbackPath

// pages is a provider, and an Issuer at which people sign in.
func pages(t *testing.T) (*issuer.Issuer, *Issuer) {
	t.Helper()
	provider, i := known(t, opsOperate)
	i.ClientID, i.ClientSecret, i.Scopes = issuer.ClientID, issuer.Secret, []string{"groups"}
	provider.SignIn(issuer.Claims{"sub": "ann", "email": "ann@example.com", "groups": inOps})
	return provider, i
}

// begin begins to sign in, and agrees at the issuer.
func begin(t *testing.T, i *Issuer) (key string, answer Answer) {
	t.Helper()
	address, key, err := i.Begin(t.Context(), back, "/runs")
	require.NoError(t, err)
	return key, agree(t, address)
}

func agree(t *testing.T, address string) Answer {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	sent, err := client.Post(address, "application/x-www-form-urlencoded", http.NoBody)
	require.NoError(t, err)
	require.NoError(t, sent.Body.Close())
	location, err := url.Parse(sent.Header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, back, location.Scheme+"://"+location.Host+location.Path)
	return Answer{State: location.Query().Get("state"), Code: location.Query().Get("code")}
}

// TestSignIn signs somebody in, once.
func TestSignIn(t *testing.T) {
	provider, i := pages(t)
	address, _, err := i.Begin(t.Context(), back, "/runs")
	require.NoError(t, err)
	u, err := url.Parse(address)
	require.NoError(t, err)
	q := u.Query()
	require.Equal(t, []string{"code", "S256", "openid profile email groups", back}, []string{q.Get("response_type"), q.Get("code_challenge_method"), q.Get("scope"), q.Get("redirect_uri")})
	answer, err := http.Get(address) //nolint:gosec // the provider checks the request
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)

	key, sent := begin(t, i)
	caller, to, err := i.End(t.Context(), key, sent)
	require.NoError(t, err)
	require.Equal(t, []string{"ann@example.com (" + provider.URL + "#ann)", "/runs"}, []string{caller.Name, to})
	_, _, err = i.End(t.Context(), key, sent)
	requireNotSignedIn(t, err, `its code: "invalid_grant"`)
	_, err = i.Bearer(t.Context(), provider.Token(t, issuer.Claims{"groups": inOps, "aud": issuer.ClientID}))
	require.ErrorContains(t, err, "expected audience", "what pages take is not for requests")
}

func requireNotSignedIn(t *testing.T, err error, words string) {
	t.Helper()
	var not *NotSignedIn
	require.ErrorAs(t, err, &not)
	require.Contains(t, not.Why, words)
}

// TestAttacksOnSignIn ends sign-ins as nobody does who began them.
func TestAttacksOnSignIn(t *testing.T) {
	provider, i := pages(t)
	end := func(change func(key *string, answer *Answer)) error {
		key, answer := begin(t, i)
		change(&key, &answer)
		_, _, err := i.End(t.Context(), key, answer)
		return err
	}
	_, others := begin(t, i)
	for words, change := range map[string]func(key *string, answer *Answer){
		"was used before":             func(_ *string, answer *Answer) { answer.State = "made up" },
		"in another browser":          func(key *string, _ *Answer) { *key = "" },
		"let you in: \"denied\"":      func(_ *string, answer *Answer) { answer.Code, answer.Error = "", "denied" },
		"its code: \"invalid_grant\"": func(_ *string, answer *Answer) { answer.Code = others.Code }, // PKCE
	} {
		requireNotSignedIn(t, end(change), words)
	}
	at := time.Now()
	i.now = func() time.Time { return at }
	requireNotSignedIn(t, end(func(*string, *Answer) { at = at.Add(SignInTime + time.Second) }), "after ten minutes")
	i.now = time.Now

	as := func(*string, *Answer) {}
	for name, nonce := range map[string]any{"of another request": "x", "none": nil} {
		provider.Change(func(claims issuer.Claims) { claims["nonce"] = nonce })
		err := end(as)
		require.ErrorContains(t, err, "nonce", name)
		requireNotSignedIn(t, err, "answered another request")
	}
	for claim, value := range map[string]any{"aud": issuer.Audience, "iss": "https://evil.example", "exp": time.Now().Add(-time.Hour).Unix()} {
		provider.Change(func(claims issuer.Claims) { claims[claim] = value })
		var refusal *Refusal
		require.ErrorAs(t, end(as), &refusal, claim)
	}
	provider.Change(func(claims issuer.Claims) { claims["groups"] = "hr" })
	var nobody *NoRole
	require.ErrorAs(t, end(as), &nobody)
	provider.Change(func(issuer.Claims) {})
	require.NoError(t, end(as))

	var away *Away
	require.ErrorAs(t, end(func(*string, *Answer) { provider.SetAway(true) }), &away)
}

// TestSignInsOfOthers begins more than a server could keep: who began first still comes back. What he wanted to see is
// not so long that his browser would keep nothing.
func TestSignInsOfOthers(t *testing.T) {
	_, i := pages(t)
	key, first := begin(t, i)
	for range 100 {
		_, _, err := i.Begin(t.Context(), back, "/")
		require.NoError(t, err)
	}
	_, to, err := i.End(t.Context(), key, first)
	require.NoError(t, err)
	require.Equal(t, "/runs", to)

	_, other := pages(t)
	key, first = begin(t, i)
	_, _, err = other.End(t.Context(), key, first)
	requireNotSignedIn(t, err, "before it began")
	_, key, err = i.Begin(t.Context(), back, "/runs?pipeline="+strings.Repeat("x", 8<<10))
	require.NoError(t, err)
	require.Less(t, len(key), 3<<10)
}

// TestIDTokensOfOtherClients: one that the issuer gave to another client signs nobody in, though it names ours.
func TestIDTokensOfOtherClients(t *testing.T) {
	provider, i := pages(t)
	for _, of := range []struct {
		aud, azp any
		words    string
	}{
		{issuer.ClientID, nil, ""},
		{issuer.ClientID, issuer.ClientID, ""},
		{[]string{issuer.ClientID, "evil"}, issuer.ClientID, ""},
		{[]string{issuer.ClientID, "evil"}, "evil", `given to the client "evil" (azp)`},
		{[]string{issuer.ClientID, "evil"}, nil, "does not say to which client it was given (azp)"},
		{issuer.ClientID, "evil", `given to the client "evil" (azp)`},
		{issuer.ClientID, "", `given to the client "" (azp)`},
		{issuer.ClientID, 7, "its claims cannot be read"},
	} {
		provider.Change(func(claims issuer.Claims) { claims["aud"], claims["azp"] = of.aud, of.azp })
		key, answer := begin(t, i)
		_, _, err := i.End(t.Context(), key, answer)
		if of.words == "" {
			require.NoError(t, err, "%+v", of)
			continue
		}
		var refusal *Refusal
		require.ErrorAs(t, err, &refusal, "%+v", of)
		require.Contains(t, refusal.Why, of.words)
	}
}
