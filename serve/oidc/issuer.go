// Package oidc knows people and programs by tokens of an issuer of OpenID Connect, and says which roles these give them.
package oidc

import (
	"context"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"waymark/landscape"
)

// skew is how much the clock of the issuer and that of this machine may differ.
const skew = time.Minute

// algorithms are those of signatures that count, whatever a token or the issuer says: only who has the private key can make one.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// CallbackPath is the path to which the issuer sends people back.
const CallbackPath = "/login/oidc/callback"

// Config says whose tokens count, and for what.
type Config struct {
	Issuer   string // URL of the issuer, as its tokens have it
	Audience string // that tokens of requests must have; empty if no such token counts
	Rules    []Rule // in order

	// ClientID is that of a client with which people sign in to the pages; empty if they cannot. ClientSecret is empty for a public client. Scopes are asked for
	// beside openid, profile and email. Redirect is where the issuer sends people back to; empty if it follows from the address that they asked for.
	ClientID, ClientSecret string
	Scopes                 []string
	Redirect               string
}

// Issuer checks tokens. It is safe for concurrent use.
type Issuer struct {
	Config
	now      func() time.Time
	client   *http.Client
	mu       sync.Mutex
	provider *oidc.Provider // nil as long as it was never reached
	keys     oidc.KeySet
	methods  []string    // by which clients authenticate; nil if the issuer does not say
	seal     cipher.AEAD // of sign-ins
}

// New returns the Issuer of a Config, and does not ask it anything yet. The error says what is wrong with the Config.
func New(c Config) (*Issuer, error) {
	u, err := url.Parse(c.Issuer)
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("%q is no issuer: write its URL, as the iss of its tokens has it", c.Issuer)
	case !confidential(u):
		return nil, fmt.Errorf("%s: who is on the way could send other keys: write an https URL", c.Issuer)
	case c.Redirect != "" && !strings.HasSuffix(c.Redirect, CallbackPath):
		return nil, fmt.Errorf("%s is not where people come back to: write https://HOST%s", c.Redirect, CallbackPath)
	case len(c.Rules) == 0:
		return nil, errors.New("nobody would have a role: say who has which")
	}
	seal, err := newSeal()
	if err != nil {
		return nil, err
	}
	i := &Issuer{Config: c, now: time.Now, seal: seal}
	i.client = (&fetches{issuer: c.Issuer, now: func() time.Time { return i.now() }}).client()
	return i, nil
}

// Reach asks the issuer where its keys are, unless it has said so before. The error is an *Away.
func (i *Issuer) Reach(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.provider != nil {
		return nil
	}
	// What is found out is for everybody: who asked first may go away meanwhile.
	ctx = oidc.ClientContext(context.WithoutCancel(ctx), i.client)
	provider, err := oidc.NewProvider(ctx, i.Issuer)
	if err != nil {
		return i.away(err)
	}
	var metadata struct {
		Keys    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&metadata); err != nil || metadata.Keys == "" {
		return i.away(errors.Join(err, errors.New("it does not say where its keys are (jwks_uri)")))
	}
	i.provider, i.keys, i.methods = provider, oidc.NewRemoteKeySet(ctx, metadata.Keys), metadata.Methods
	return nil
}

// away says of the issuer what went wrong.
func (i *Issuer) away(err error) error {
	if away, ok := errors.AsType[*Away](err); ok {
		return away
	}
	return &Away{i.Issuer, err}
}

// Refusal says why a token does not count.
type Refusal struct {
	Issuer, Why string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("this token of %s does not count: %s", r.Issuer, r.Why)
}

func (i *Issuer) refuse(format string, args ...any) error {
	return &Refusal{i.Issuer, fmt.Sprintf(format, args...)}
}

// NoRole says that somebody is known to the issuer, but that no rule is about him.
type NoRole struct {
	Issuer, Who, Claims string
}

func (n *NoRole) Error() string {
	return fmt.Sprintf("%s knows %s, who has no role here: the token has %s, which no --oidc-role is about", n.Issuer, n.Who, n.Claims)
}

// jwt is the form of a signed token: header, claims and signature.
var jwt = regexp.MustCompile(`^[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+\.[0-9A-Za-z_-]*$`)

// Bearer returns who sends a token with a request to the API. The error is a *Refusal, a *NoRole, an *Away, or that of ctx.
func (i *Issuer) Bearer(ctx context.Context, token string) (Caller, error) {
	if i.Audience == "" {
		return Caller{}, i.refuse("requests are taken with access tokens alone: --oidc-audience is not given")
	}
	_, caller, err := i.verify(ctx, token, i.Audience)
	return caller, err
}

// verify checks a token for an audience.
func (i *Issuer) verify(ctx context.Context, token, audience string) (*oidc.IDToken, Caller, error) {
	if !jwt.MatchString(token) {
		return nil, Caller{}, i.refuse("it is not a JWT")
	}
	if err := i.Reach(ctx); err != nil {
		return nil, Caller{}, err
	}
	keys := &noted{KeySet: i.keys}
	verifier := oidc.NewVerifier(i.Issuer, keys, &oidc.Config{
		ClientID: audience, SupportedSigningAlgs: algorithms, Now: func() time.Time { return i.now().Add(-skew) },
	})
	verified, err := verifier.Verify(ctx, token)
	if away, ok := errors.AsType[*Away](keys.err); ok {
		return nil, Caller{}, away
	}
	if err != nil && ctx.Err() != nil {
		return nil, Caller{}, ctx.Err()
	}
	if expired, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return nil, Caller{}, i.refuse("it expired at %s", expired.Expiry.UTC().Format(time.RFC3339))
	}
	if err != nil {
		return nil, Caller{}, i.refuse("%s", strings.TrimPrefix(err.Error(), "oidc: "))
	}
	caller, err := i.caller(token, verified)
	return verified, caller, err
}

// noted are keys that note why they could not be had: the verifier says it in words alone.
type noted struct {
	oidc.KeySet
	err error
}

// VerifySignature implements oidc.KeySet.
func (n *noted) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := n.KeySet.VerifySignature(ctx, token)
	n.err = err
	return payload, err
}

// Caller is who sent a token.
type Caller struct {
	// AccessToken says of him what that of one of our own tokens does. Its Name is a readable one and, in parentheses, the Subject; its ID is made of the
	// SHA-256 of the token.
	landscape.AccessToken
	// Subject is who it is, for ever: the issuer, #, and the subject there, with each character that is no part of a name escaped as in an address. Empty for
	// who sent one of our own tokens, whom its name says.
	Subject string
}

// IDPrefix begins the ids of tokens of issuers in records.
const IDPrefix = "oidc-"

// mostSubject is how long a Subject may be, in bytes.
const mostSubject = 512

// caller returns who a token is of that was verified.
func (i *Issuer) caller(token string, verified *oidc.IDToken) (Caller, error) {
	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		return Caller{}, i.refuse("its claims cannot be read: %v", err)
	}
	if from, given := claims["nbf"].(float64); given && time.Unix(int64(from), 0).After(i.now().Add(skew)) {
		return Caller{}, i.refuse("it counts from %s on", time.Unix(int64(from), 0).UTC().Format(time.RFC3339))
	}
	caller := Caller{Subject: i.Issuer + "#" + url.PathEscape(verified.Subject)}
	if verified.Subject == "" || len(caller.Subject) > mostSubject {
		return Caller{}, i.refuse("it has no subject (sub), or one that is too long")
	}
	roles, pipelines, reasons := grant(i.Rules, claims)
	sum := sha256.Sum256([]byte(token))
	caller.AccessToken = landscape.AccessToken{
		ID: IDPrefix + hex.EncodeToString(sum[:6]), Name: nameOf(claims, caller.Subject), Roles: landscape.List(roles), Pipelines: landscape.List(pipelines),
		Expires: landscape.MicrosOf(verified.Expiry), Actor: i.Issuer, Why: strings.Join(reasons, ", "),
	}
	if !verified.IssuedAt.IsZero() {
		caller.At = landscape.MicrosOf(verified.IssuedAt)
	}
	if reasons == nil {
		return Caller{}, &NoRole{i.Issuer, caller.Name, lookedAt(i.Rules, claims)}
	}
	return caller, nil
}

// Is reports whether a recorded actor is the caller, whatever readable name he had then.
func (c Caller) Is(actor string) bool {
	if c.Subject == "" {
		return actor == c.Name
	}
	return actor == c.Subject || strings.HasSuffix(actor, " ("+c.Subject+")")
}

// mostName is how long a readable name may be, in characters.
const mostName = 64

// nameOf returns the name of somebody on record: one that people can read, if the token has any, and the subject. The first never looks like the second.
func nameOf(claims map[string]any, subject string) string {
	for _, claim := range []string{"email", "preferred_username", "name", "client_id"} {
		name, _ := claims[claim].(string)
		if name == "" || claim == "email" && slices.Contains([]any{false, "false"}, claims["email_verified"]) {
			continue
		}
		return readable(name) + " (" + subject + ")"
	}
	return subject
}

// notReadable are the characters that a readable name does not keep.
var notReadable = regexp.MustCompile(`[^\p{L}\p{M}\p{N} @.,'+_-]`)

func readable(name string) string {
	kept := []rune(notReadable.ReplaceAllString(name, "_"))
	return string(kept[:min(len(kept), mostName)])
}
