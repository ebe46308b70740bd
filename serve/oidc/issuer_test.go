package oidc

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/issuer"
)

// known is a provider, and an Issuer that trusts it.
func known(t *testing.T, rules ...string) (*issuer.Issuer, *Issuer) {
	t.Helper()
	provider := issuer.Start(t)
	return provider, trusting(t, provider.URL, rules...)
}

func trusting(t *testing.T, url string, rules ...string) *Issuer {
	t.Helper()
	c := Config{Issuer: url, Audience: issuer.Audience}
	for _, text := range rules {
		rule, err := ParseRule(text)
		require.NoError(t, err)
		c.Rules = append(c.Rules, rule)
	}
	i, err := New(c)
	require.NoError(t, err)
	return i
}

const opsOperate = "groups=data-ops:operator"

var inOps = []string{"data-ops"}

// TestWhoItIs says who sent a token, by a name that people read and that nobody else can have.
func TestWhoItIs(t *testing.T) {
	provider, i := known(t, opsOperate, "groups=shop:viewer,auditor@orders*,refunds")
	caller, err := i.Bearer(t.Context(), provider.Token(t, issuer.Claims{"sub": "auth0|ann", "email": "ann@example.com", "groups": []string{"all", "shop"}}))
	require.NoError(t, err)
	require.Equal(t, provider.URL+"#auth0%7Cann", caller.Subject)
	require.Equal(t, "ann@example.com ("+caller.Subject+")", caller.Name)
	require.Regexp(t, `^oidc-[0-9a-f]{12}$`, caller.ID)
	require.Equal(t, []string{`["viewer","auditor"]`, `["orders*","refunds"]`, provider.URL, "groups=shop"}, []string{caller.Roles, caller.Pipelines, caller.Actor, caller.Why})
	require.True(t, caller.Valid(time.Now()) && !caller.Valid(time.Now().Add(time.Hour)))

	for name, claims := range map[string]issuer.Claims{
		"bob":                      {"email": "victim@example.com", "email_verified": false, "preferred_username": "bob"},
		"shop":                     {"client_id": "shop"},
		"root _https___x_admin_ _": {"name": "root (https://x#admin) \u202e"},
		strings.Repeat("é", 64):    {"name": strings.Repeat("é", 99)},
	} {
		claims["groups"] = inOps
		caller, err := i.Bearer(t.Context(), provider.Token(t, claims))
		require.NoError(t, err)
		require.Equal(t, name+" ("+provider.URL+"#00u1)", caller.Name)
	}
	caller, err = i.Bearer(t.Context(), provider.Token(t, issuer.Claims{"groups": inOps}))
	require.NoError(t, err)
	require.Equal(t, provider.URL+"#00u1", caller.Name)
	require.True(t, caller.Is(caller.Name) && caller.Is("any name ("+caller.Subject+")"))

	other, err := i.Bearer(t.Context(), provider.Token(t, issuer.Claims{"groups": inOps, "sub": "x) (" + caller.Subject, "name": "ann (" + caller.Subject + ")"}))
	require.NoError(t, err)
	require.False(t, caller.Is(other.Name), "%s is not %s", other.Name, caller.Subject)
	require.False(t, Caller{AccessToken: landscape.AccessToken{Name: "ann"}}.Is("bob"))
}

// TestAttacks sends tokens that somebody made who may not, or that are for another use.
func TestAttacks(t *testing.T) {
	provider, i := known(t, opsOperate)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	key, kid := provider.Key()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	good := provider.Claims(issuer.Claims{"groups": inOps})
	with := func(claims issuer.Claims) string { claims["groups"] = inOps; return provider.Token(t, claims) }
	signed := provider.Token(t, good)
	parts := strings.Split(signed, ".")
	now := time.Now()

	_, err = i.Bearer(t.Context(), signed)
	require.NoError(t, err)
	for name, attack := range map[string]struct{ token, words string }{
		"another issuer":             {with(issuer.Claims{"iss": "https://evil.example"}), "issued by a different provider"},
		"the issuer with a slash":    {with(issuer.Claims{"iss": provider.URL + "/"}), "issued by a different provider"},
		"another audience":           {with(issuer.Claims{"aud": []string{"mail", "waymark2"}}), "expected audience"},
		"no audience":                {with(issuer.Claims{"aud": nil}), "expected audience"},
		"expired":                    {with(issuer.Claims{"exp": now.Add(-2 * skew).Unix()}), "it expired at"},
		"for ever":                   {with(issuer.Claims{"exp": nil}), "it expired at"},
		"not yet":                    {with(issuer.Claims{"nbf": now.Add(2 * skew).Unix()}), "it counts from"},
		"nobody":                     {with(issuer.Claims{"sub": nil}), "no subject"},
		"a long name":                {with(issuer.Claims{"sub": strings.Repeat("x", 600)}), "no subject (sub), or one that is too long"},
		"alg none":                   {unsigned(t, good), "unexpected signature algorithm"},
		"HS256 with the public key":  {issuer.Sign(t, jose.HS256, jose.JSONWebKey{Key: public, KeyID: kid}, good), "unexpected signature algorithm"},
		"HS256 with the DER of it":   {issuer.Sign(t, jose.HS256, jose.JSONWebKey{Key: der, KeyID: kid}, good), "unexpected signature algorithm"},
		"key of a stranger":          {issuer.Sign(t, jose.RS256, jose.JSONWebKey{Key: stranger, KeyID: kid}, good), "failed to verify"},
		"unknown kid":                {issuer.Sign(t, jose.RS256, jose.JSONWebKey{Key: key, KeyID: "../../keys"}, good), "failed to verify"},
		"key of a stranger, no kid":  {issuer.Sign(t, jose.RS256, stranger, good), "failed to verify"},
		"claims of another token":    {parts[0] + "." + claimsOf(t, provider.Claims(issuer.Claims{"groups": []string{"admins"}})) + "." + parts[2], "failed to verify"},
		"no signature":               {parts[0] + "." + parts[1] + ".", "failed to verify"},
		"JSON in the place of a JWT": {`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, "not a JWT"},
		"nothing":                    {"", "not a JWT"},
	} {
		_, err := i.Bearer(t.Context(), attack.token)
		var refusal *Refusal
		require.ErrorAs(t, err, &refusal, name)
		require.Contains(t, refusal.Why, attack.words, name)
	}
	for name, token := range map[string]string{
		"expired within the skew": with(issuer.Claims{"exp": now.Add(-skew / 2).Unix()}), "from then on within the skew": with(issuer.Claims{"nbf": now.Add(skew / 2).Unix()}),
		"one of several audiences": with(issuer.Claims{"aud": []string{"mail", issuer.Audience}}), "signed with PS384": issuer.Sign(t, jose.PS384, jose.JSONWebKey{Key: key, KeyID: kid}, good),
	} {
		_, err := i.Bearer(t.Context(), token)
		require.NoError(t, err, name)
	}
	i.Audience = ""
	_, err = i.Bearer(t.Context(), with(issuer.Claims{"aud": ""}))
	require.ErrorContains(t, err, "--oidc-audience is not given")
}

func claimsOf(t *testing.T, claims issuer.Claims) string {
	t.Helper()
	text, err := json.Marshal(claims)
	require.NoError(t, err)
	return base64.RawURLEncoding.EncodeToString(text)
}

func unsigned(t *testing.T, claims issuer.Claims) string {
	t.Helper()
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + claimsOf(t, claims) + "."
}

// TestKeysAreRotated takes the tokens of a new key at once, and those of a forgotten one no more. Strangers do not make the server ask for keys again and again.
func TestKeysAreRotated(t *testing.T) {
	provider, i := known(t, opsOperate)
	at := time.Now()
	i.now = func() time.Time { return at }
	before := provider.Token(t, issuer.Claims{"groups": inOps})
	_, err := i.Bearer(t.Context(), before)
	require.NoError(t, err)
	provider.Rotate(t)
	after := provider.Token(t, issuer.Claims{"groups": inOps})
	at = at.Add(keepAnswer)
	_, err = i.Bearer(t.Context(), after)
	require.NoError(t, err)
	require.Equal(t, 2, provider.Asked("/keys"))
	for range 20 {
		_, err = i.Bearer(t.Context(), before)
		require.ErrorContains(t, err, "failed to verify")
	}
	require.Equal(t, 2, provider.Asked("/keys"), "the last answer is %s old at most", keepAnswer)
	at = at.Add(keepAnswer)
	_, err = i.Bearer(t.Context(), before)
	require.ErrorContains(t, err, "failed to verify")
	require.Equal(t, 3, provider.Asked("/keys"))
	require.Equal(t, 1, provider.Asked("/.well-known/openid-configuration"))
}

// TestAway asks an issuer that does not answer: before it ever did, and later, when its keys are known.
func TestAway(t *testing.T) {
	provider, i := known(t, opsOperate)
	at := time.Now()
	i.now = func() time.Time { return at }
	token := provider.Token(t, issuer.Claims{"groups": inOps})
	provider.SetAway(true)
	for range 20 {
		_, err := i.Bearer(t.Context(), token)
		var away *Away
		require.ErrorAs(t, err, &away)
		require.ErrorContains(t, away, "answers with status 502")
	}
	require.Equal(t, 1, provider.Asked("/.well-known/openid-configuration"))
	provider.SetAway(false)
	at = at.Add(keepFault)
	_, err := i.Bearer(t.Context(), token)
	require.NoError(t, err)

	provider.SetAway(true)
	at = at.Add(keepAnswer)
	_, err = i.Bearer(t.Context(), token)
	require.NoError(t, err, "its key is known")
	provider.Rotate(t)
	_, err = i.Bearer(t.Context(), provider.Token(t, nil))
	var away *Away
	require.ErrorAs(t, err, &away, "nobody knows whether it has this key")

	for url, words := range map[string]string{provider.URL + "/": "did not match", "https://127.0.0.1:1": "connect"} {
		provider.SetAway(false)
		_, err := trusting(t, url, opsOperate).Bearer(t.Context(), token)
		require.ErrorAs(t, err, &away)
		require.ErrorContains(t, away, words)
	}
}

// TestRoles gives roles by claims, and to nobody else.
func TestRoles(t *testing.T) {
	provider, i := known(t, "groups=refunds:operator@refunds", "groups=audit:auditor", opsOperate, "realm_access.roles=root:admin", "https://x.example/team=a=b:c:viewer", "scope=runs:service", "groups=late:deployer@refunds")
	for name, c := range map[string]struct {
		claims           issuer.Claims
		roles, pipelines string
	}{
		"roles add up":                          {issuer.Claims{"groups": []any{"audit", 7, "data-ops"}}, `["auditor","operator"]`, `[]`},
		"not for other pipelines":               {issuer.Claims{"groups": []string{"audit", "refunds", "late"}}, `["operator","deployer"]`, `["refunds"]`},
		"in an object":                          {issuer.Claims{"realm_access": issuer.Claims{"roles": []string{"root"}}}, `["admin"]`, `[]`},
		"a name with dots, and a value with :=": {issuer.Claims{"https://x.example/team": "a=b:c"}, `["viewer"]`, `[]`},
		"a word of the scope":                   {issuer.Claims{"scope": "openid runs"}, `["service"]`, `[]`},
	} {
		caller, err := i.Bearer(t.Context(), provider.Token(t, c.claims))
		require.NoError(t, err, name)
		require.Equal(t, []string{c.roles, c.pipelines}, []string{caller.Roles, caller.Pipelines}, name)
	}
	for _, claims := range []issuer.Claims{{"groups": "data-ops2"}, {"groups": "data-ops audit"}, {"groups": true}, {"groups": issuer.Claims{"data-ops": true}}, {"realm_access": "root"}, {}} {
		_, err := i.Bearer(t.Context(), provider.Token(t, claims))
		var nobody *NoRole
		require.ErrorAs(t, err, &nobody, "%v", claims)
		require.Contains(t, nobody.Error(), "groups")
		require.Contains(t, nobody.Error(), "no claim scope")
	}
	_, err := i.Bearer(t.Context(), provider.Token(t, issuer.Claims{"groups": []string{"hr", "<b>"}}))
	require.ErrorContains(t, err, provider.URL+"#00u1, who has no role here: the token has the claim groups with [\"hr\" \"<b>\"], and no claim realm_access.roles")
}

// TestWrongConfigurations says what is wrong.
func TestWrongConfigurations(t *testing.T) {
	for text, words := range map[string]string{
		"groups:operator": "write CLAIM=VALUE:ROLE", "groups=:operator": "write CLAIM", "=x:operator": "write CLAIM", "groups=x:operators": `no role "operators"`, "groups=x:": `no role ""`,
		"groups=x:operator@": `"" is no pattern`, "groups=x:operator@[": `"[" is no pattern`,
	} {
		_, err := ParseRule(text)
		require.ErrorContains(t, err, words, text)
	}
	rule, err := ParseRule("email=ann@example.com:auditor@orders")
	require.NoError(t, err)
	require.Equal(t, Rule{"email", "ann@example.com", []landscape.Role{landscape.Auditor}, []string{"orders"}}, rule)
	for url, words := range map[string]string{
		"": "no issuer", "idp.example": "no issuer", "https://idp.example/?x": "no issuer", "https://a:b@idp.example": "no issuer", "http://idp.example": "write an https URL", "ftp://idp.example": "write an https URL",
	} {
		_, err := New(Config{Issuer: url, Rules: []Rule{rule}})
		require.ErrorContains(t, err, words, url)
	}
	_, err = New(Config{Issuer: "https://idp.example"})
	require.ErrorContains(t, err, "nobody would have a role")
}

// TestNothingIsAskedInTheOpen asks no address that others could answer for the issuer, wherever that says that its keys are.
func TestNothingIsAskedInTheOpen(t *testing.T) {
	_, i := known(t, opsOperate)
	_, err := i.client.Get("http://idp.example/keys")
	var away *Away
	require.ErrorAs(t, err, &away)
	require.ErrorContains(t, err, "which is not https")
}
