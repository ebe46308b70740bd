// Package issuer is a provider of OpenID Connect in the process of a test: discovery, keys that are rotated, and sign-in by authorization code with PKCE.
package issuer

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"
)

// The client that is registered, and the audience of tokens for an API.
const (
	ClientID = "waymark-pages"
	Secret   = "s3cret-of-the-client"
	Audience = "waymark"
)

// Claims are those of a token.
type Claims = map[string]any

// Issuer answers requests. Its fields are changed only by its functions.
type Issuer struct {
	URL    string // with localhost: another site than 127.0.0.1
	server *httptest.Server

	mu     sync.Mutex
	key    *rsa.PrivateKey
	kid    int
	away   bool
	asked  map[string]int // by path
	person Claims
	codes  map[string]grant
	change func(Claims)
}

// Start runs an issuer until the test ends.
func Start(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{asked: map[string]int{}, codes: map[string]grant{}, change: func(Claims) {}}
	i.Rotate(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /authorize", i.consent)
	mux.HandleFunc("POST /token", i.token)
	i.server = httptest.NewServer(i.counted(mux))
	t.Cleanup(i.server.Close)
	i.URL = strings.Replace(i.server.URL, "127.0.0.1", "localhost", 1)
	return i
}

// counted counts requests, and answers none while the issuer is away.
func (i *Issuer) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		i.asked[r.URL.Path]++
		away := i.away
		i.mu.Unlock()
		if away {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Asked is how often a path was asked for.
func (i *Issuer) Asked(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked[path]
}

// SetAway lets the issuer answer nothing, or answer again.
func (i *Issuer) SetAway(away bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.away = away
}

// Rotate gives the issuer another key. It forgets the one before.
func (i *Issuer) Rotate(t testing.TB) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key, i.kid = key, i.kid+1
}

// Key returns the private key, and the id by which tokens name it.
func (i *Issuer) Key() (*rsa.PrivateKey, string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.key, fmt.Sprint("key-", i.kid)
}

// Token returns a token for Audience that counts for an hour, with claims in the place of its own; a nil one it does not have.
func (i *Issuer) Token(t testing.TB, claims Claims) string {
	t.Helper()
	key, kid := i.Key()
	return Sign(t, jose.RS256, jose.JSONWebKey{Key: key, KeyID: kid}, i.claims(Audience, claims))
}

// Claims returns those of Token.
func (i *Issuer) Claims(claims Claims) Claims { return i.claims(Audience, claims) }

func (i *Issuer) claims(audience string, more Claims) Claims {
	now := time.Now()
	claims := Claims{"iss": i.URL, "aud": audience, "sub": "00u1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(claims, more)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return claims
}

// Sign returns a token with claims, signed with a key.
func Sign(t testing.TB, algorithm jose.SignatureAlgorithm, key any, claims Claims) string {
	t.Helper()
	token, err := sign(algorithm, key, claims)
	require.NoError(t, err)
	return token
}

func sign(algorithm jose.SignatureAlgorithm, key any, claims Claims) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, Claims{
		"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		"code_challenge_methods_supported": []string{"S256"},
	})
}

func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	key, kid := i.Key()
	send(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: kid, Use: "sig", Algorithm: "RS256"}}})
}

func send(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}
