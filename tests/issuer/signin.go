package issuer

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"

	"github.com/go-jose/go-jose/v4"
)

// grant is what somebody agreed to.
type grant struct {
	redirect, challenge, nonce string
	claims                     Claims
}

// SignIn says who signs in from now on, by the claims of the ID tokens.
func (i *Issuer) SignIn(person Claims) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.person = person
}

// Change changes the claims of ID tokens before they are signed.
func (i *Issuer) Change(change func(Claims)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.change = change
}

// authorize asks a person whether he wants to sign in. A request that no client of OAuth 2.1 sends is refused.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for name, want := range map[string]string{"response_type": "code", "client_id": ClientID, "code_challenge_method": "S256"} {
		if q.Get(name) != want {
			http.Error(w, fmt.Sprintf("%s is %q, not %q", name, q.Get(name), want), http.StatusBadRequest)
			return
		}
	}
	for _, name := range []string{"state", "nonce", "code_challenge", "redirect_uri"} {
		if q.Get(name) == "" {
			http.Error(w, "there is no "+name, http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html><title>Issuer</title><form method="post" action="/authorize?%s"><button>Agree</button></form>`, html.EscapeString(r.URL.RawQuery))
}

// consent sends a person back with a code.
func (i *Issuer) consent(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	code := rand.Text()
	i.mu.Lock()
	i.codes[code] = grant{redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), nonce: q.Get("nonce"), claims: i.person}
	i.mu.Unlock()
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "session_state": {"unknown to clients"}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// token gives an ID token for a code, once, to who began.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	refuse := func(why string) {
		send(w, http.StatusBadRequest, Claims{"error": "invalid_grant", "error_description": why})
	}
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != ClientID || secret != Secret {
		refuse("the client is another one")
		return
	}
	i.mu.Lock()
	given, known := i.codes[r.PostFormValue("code")]
	delete(i.codes, r.PostFormValue("code"))
	change := i.change
	i.mu.Unlock()
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case !known:
		refuse("the code was used, or never given")
		return
	case given.redirect != r.PostFormValue("redirect_uri"):
		refuse("the address is another one")
		return
	case given.challenge != base64.RawURLEncoding.EncodeToString(challenge[:]):
		refuse("the verifier is another one")
		return
	}
	claims := Claims{"nonce": given.nonce}
	maps.Copy(claims, given.claims)
	claims = i.claims(ClientID, claims)
	change(claims)
	key, kid := i.Key()
	token, err := sign(jose.RS256, jose.JSONWebKey{Key: key, KeyID: kid}, claims)
	if err != nil {
		refuse(err.Error())
		return
	}
	send(w, http.StatusOK, Claims{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 3600, "id_token": token})
}
