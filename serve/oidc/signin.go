package oidc

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// SignInTime is how long somebody may take to sign in.
const SignInTime = 10 * time.Minute

// NotSignedIn says why somebody who came back from the issuer is not signed in. He can begin again.
type NotSignedIn struct {
	Why string
}

func (n *NotSignedIn) Error() string { return "you are not signed in: " + n.Why }

// A signIn is what somebody began in a browser, which keeps it, sealed, until he comes back: a server that kept it for
// everybody would have to forget some of them.
type signIn struct {
	State, Redirect, Nonce, Verifier, To string
	Over                                 time.Time
}

// mostTo is how long the address may be to which somebody gets in the end: browsers keep 4 KiB. Who began at a longer
// one gets to the first page.
const mostTo = 1 << 10

// newSeal returns what seals sign-ins, with a key that no other process has.
func newSeal() (cipher.AEAD, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// sealed returns the key that a browser keeps of a sign-in.
func (i *Issuer) sealed(begun signIn) (key string, err error) {
	text, err := json.Marshal(begun)
	return base64.RawURLEncoding.EncodeToString(i.seal.Seal(nil, nil, text, nil)), err
}

// unsealed returns the sign-in of a key; known is false of one that this process did not seal.
func (i *Issuer) unsealed(key string) (begun signIn, known bool) {
	text, err := base64.RawURLEncoding.DecodeString(key)
	if err == nil {
		text, err = i.seal.Open(nil, nil, text, nil)
	}
	return begun, err == nil && json.Unmarshal(text, &begun) == nil
}

// SignsIn reports whether people can sign in at the issuer.
func (i *Issuer) SignsIn() bool { return i.ClientID != "" }

// Host is what people call the issuer.
func (i *Issuer) Host() string {
	u, _ := url.Parse(i.Issuer) // New has read it
	return u.Host
}

// Begin returns the address at which somebody signs in at the issuer, and the key that his browser has to keep meanwhile. The issuer sends him back to
// redirect; in the end he gets to. The error is an *Away.
func (i *Issuer) Begin(ctx context.Context, redirect, to string) (address, key string, err error) {
	if err := i.Reach(ctx); err != nil {
		return "", "", err
	}
	state, nonce, verifier := rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	if len(to) > mostTo {
		to = "/"
	}
	key, err = i.sealed(signIn{state, redirect, nonce, verifier, to, i.now().Add(SignInTime)})
	return i.oauth(redirect).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), key, err
}

// oauth is the client of the issuer that we are.
func (i *Issuer) oauth(redirect string) *oauth2.Config {
	endpoint := i.provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if i.ClientSecret == "" || len(i.methods) > 0 && !slices.Contains(i.methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	scopes := append([]string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail}, i.Scopes...)
	return &oauth2.Config{ClientID: i.ClientID, ClientSecret: i.ClientSecret, Endpoint: endpoint, RedirectURL: redirect, Scopes: scopes}
}

// Answer is that with which the issuer sends somebody back.
type Answer struct {
	State, Code, Error string
}

// End returns who signed in, and where he wanted to go: for the key that his browser kept, and the answer with which
// the issuer sent him back. The issuer takes its code once, with the verifier that the key has. The error is a
// *NotSignedIn, a *Refusal, a *NoRole, an *Away, or that of ctx.
func (i *Issuer) End(ctx context.Context, key string, answer Answer) (caller Caller, to string, err error) {
	begun, known := i.unsealed(key)
	switch {
	case !known || subtle.ConstantTimeCompare([]byte(answer.State), []byte(begun.State)) != 1:
		return caller, "", &NotSignedIn{"this was begun in another browser, under another name of this server or before it began, " +
			"or this answer of the issuer was used before: begin again"}
	case i.now().After(begun.Over):
		return caller, "", &NotSignedIn{"this answer of the issuer came after ten minutes: begin again"}
	case answer.Code == "":
		return caller, "", &NotSignedIn{fmt.Sprintf("the issuer did not let you in: %.64q", answer.Error)}
	}
	sent, err := i.exchange(ctx, begun, answer.Code)
	if err != nil {
		return caller, "", err
	}
	verified, caller, err := i.verify(ctx, sent, i.ClientID)
	if verified != nil && err == nil {
		err = i.forUs(verified)
	}
	if verified != nil && subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(begun.Nonce)) != 1 {
		return Caller{}, "", &NotSignedIn{"the issuer answered another request (nonce): begin again"}
	}
	return caller, begun.To, err
}

// forUs refuses an ID token that the issuer gave to another client, and that names us only beside it: OpenID Connect
// Core 1.0, section 3.1.3.7, 4 and 5.
func (i *Issuer) forUs(verified *oidc.IDToken) error {
	var claims struct {
		To *string `json:"azp"`
	}
	switch err := verified.Claims(&claims); {
	case err != nil:
		return i.refuse("its claims cannot be read: %v", err)
	case claims.To == nil && len(verified.Audience) > 1:
		return i.refuse("it is for several audiences, and does not say to which client it was given (azp)")
	case claims.To != nil && *claims.To != i.ClientID:
		return i.refuse("it was given to the client %.64q (azp)", *claims.To)
	}
	return nil
}

// exchange returns the ID token that a code is for.
func (i *Issuer) exchange(ctx context.Context, begun signIn, code string) (string, error) {
	if err := i.Reach(ctx); err != nil {
		return "", err
	}
	token, err := i.oauth(begun.Redirect).Exchange(oidc.ClientContext(ctx, i.client), code, oauth2.VerifierOption(begun.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < http.StatusInternalServerError {
		return "", &NotSignedIn{fmt.Sprintf("the issuer does not take its code: %.64q", refused.ErrorCode)}
	}
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", i.away(err)
	}
	sent, _ := token.Extra("id_token").(string)
	return sent, nil
}
