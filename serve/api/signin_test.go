package api

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/serve/oidc"
	"waymark/tests/issuer"
)

// TestWhereTheIssuerSendsBack holds that people come back to the address at which they were, or to that of the proxy in front.
func TestWhereTheIssuerSendsBack(t *testing.T) {
	s, _, _ := asked(t, 0)
	require.Equal(t, http.StatusNotFound, get(s, "/login/oidc", "").Code, "there is no issuer")
	require.Equal(t, http.StatusNotFound, get(s, oidc.CallbackPath, "").Code)
	provider := issuer.Start(t)
	for redirect, want := range map[string]string{"": "http://localhost:8686" + oidc.CallbackPath, "https://waymark.example" + oidc.CallbackPath: "https://waymark.example" + oidc.CallbackPath} {
		config := oidc.Config{Issuer: provider.URL, Rules: []oidc.Rule{{Claim: "groups", Value: "ops", Roles: []landscape.Role{landscape.Viewer}}}, Redirect: redirect}
		trusted, err := oidc.New(config)
		require.NoError(t, err)
		s.Issuer = trusted
		require.Equal(t, http.StatusNotFound, get(s, "/login/oidc", "").Code, "there is no client")
		require.NotContains(t, get(s, "/login", "").Body.String(), "/login/oidc")
		trusted.ClientID = issuer.ClientID
		answer := get(s, "/login/oidc", "")
		require.Equal(t, http.StatusSeeOther, answer.Code)
		to, err := url.Parse(answer.Header().Get("Location"))
		require.NoError(t, err)
		require.Equal(t, want, to.Query().Get("redirect_uri"))
	}
	s.Rate = 1
	for range 200 {
		require.Equal(t, http.StatusSeeOther, get(s, "/login/oidc", "").Code, "others sign in from the same address")
	}
}

// TestManyBadTokens lets an address send tokens of an issuer that do not count as often as others.
func TestManyBadTokens(t *testing.T) {
	s, _, token := asked(t, 1_000)
	provider := issuer.Start(t)
	trusted, err := oidc.New(oidc.Config{Issuer: provider.URL, Audience: issuer.Audience, Rules: []oidc.Rule{{Claim: "sub", Value: "00u1", Roles: []landscape.Role{landscape.Viewer}}}})
	require.NoError(t, err)
	s.Issuer = trusted
	bad := provider.Token(t, issuer.Claims{"aud": "mail"})
	for range failedLogins {
		require.Equal(t, http.StatusUnauthorized, get(s, "/v1/whoami", bad).Code)
	}
	require.Equal(t, http.StatusTooManyRequests, get(s, "/v1/whoami", bad).Code)
	for _, good := range []string{provider.Token(t, nil), token} {
		require.Equal(t, http.StatusOK, get(s, "/v1/whoami", good).Code)
	}
	s.Rate = 1
	s.rates.of = nil
	for _, want := range []int{200, 200, 429} { // of one person, with several tokens
		require.Equal(t, want, get(s, "/v1/whoami", provider.Token(t, issuer.Claims{"jti": want})).Code)
	}
}
