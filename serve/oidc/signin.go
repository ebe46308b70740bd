package oidc

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// How long somebody may take to sign in, and how many may be about to at most.
const (
	SignInTime = 10 * time.Minute
	mostSignIn = 10_000
)

// NotSignedIn says why somebody who came back from the issuer is not signed in. He can begin again.
type NotSignedIn struct {
	Why string
}

func (n *NotSignedIn) Error() string { return "you are not signed in: " + n.Why }

// digest is that of a secret.
type digest = [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// A signIn is what somebody began in a browser, and did not come back from.
type signIn struct {
	browser                       digest
	redirect, nonce, verifier, to string
	over                          time.Time
}

// signIns are those that were begun, by the digests of their states. Each can be ended once.
type signIns struct {
	mu sync.Mutex
	of map[digest]signIn
}

// add keeps a sign-in. Of too many, the one that is over first is dropped.
func (s *signIns) add(state string, begun signIn, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[digest]signIn{}
	}
	if len(s.of) >= mostSignIn {
		var oldest digest
		for of, other := range s.of {
			if first, known := s.of[oldest]; !known || other.over.Before(first.over) {
				oldest = of
			}
		}
		delete(s.of, oldest)
	}
	for of, other := range s.of {
		if now.After(other.over) {
			delete(s.of, of)
		}
	}
	s.of[digestOf(state)] = begun
}

// take returns the sign-in of a state, and forgets it.
func (s *signIns) take(state string) (begun signIn, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	begun, known = s.of[digestOf(state)]
	delete(s.of, digestOf(state))
	return begun, known
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
	key = rand.Text()
	i.begun.add(state, signIn{digestOf(key), redirect, nonce, verifier, to, i.now().Add(SignInTime)}, i.now())
	return i.oauth(redirect).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), key, nil
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

// End returns who signed in, and where he wanted to go: for the key that his browser kept, and the answer with which the issuer sent him back. A state ends a
// sign-in once, whatever comes of it. The error is a *NotSignedIn, a *Refusal, a *NoRole, an *Away, or that of ctx.
func (i *Issuer) End(ctx context.Context, key string, answer Answer) (caller Caller, to string, err error) {
	begun, known := i.begun.take(answer.State)
	browser := digestOf(key)
	switch {
	case !known || i.now().After(begun.over):
		return caller, "", &NotSignedIn{"this answer of the issuer was used before, or came after ten minutes: begin again"}
	case subtle.ConstantTimeCompare(browser[:], begun.browser[:]) != 1:
		return caller, "", &NotSignedIn{"this was begun in another browser, or under another name of this server: begin again"}
	case answer.Code == "":
		return caller, "", &NotSignedIn{fmt.Sprintf("the issuer did not let you in: %.64q", answer.Error)}
	}
	sent, err := i.exchange(ctx, begun, answer.Code)
	if err != nil {
		return caller, "", err
	}
	verified, caller, err := i.verify(ctx, sent, i.ClientID)
	if verified != nil && subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(begun.nonce)) != 1 {
		return Caller{}, "", &NotSignedIn{"the issuer answered another request (nonce): begin again"}
	}
	return caller, begun.to, err
}

// exchange returns the ID token that a code is for.
func (i *Issuer) exchange(ctx context.Context, begun signIn, code string) (string, error) {
	if err := i.Reach(ctx); err != nil {
		return "", err
	}
	token, err := i.oauth(begun.redirect).Exchange(oidc.ClientContext(ctx, i.client), code, oauth2.VerifierOption(begun.verifier))
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
