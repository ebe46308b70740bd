package client

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"waymark/landscape"
)

// Access is an access token of the HTTP API, without its secret.
type Access struct {
	ID        string           `json:"access_token"` // its id: what is between wmk_ and the secret
	Name      string           `json:"name"`         // who acts with it, as records say
	Roles     []landscape.Role `json:"roles"`
	Pipelines []string         `json:"pipelines,omitempty"` // patterns of the names of those that it is about; empty for all
	Expires   Time             `json:"expires"`             // null for never
	Revoked   bool             `json:"revoked"`
	Actor     string           `json:"actor"` // who granted or revoked it
	Why       string           `json:"why"`
	At        Time             `json:"at"`
}

// Granted is a new access token. It is the only place that has the secret.
type Granted struct {
	Access
	Token string `json:"token"` // as requests send it
}

// AccessRequest says who is to get access, and to what.
type AccessRequest struct {
	By                         // Why must not be empty
	Name      string           // who acts with it
	Roles     []landscape.Role // not empty
	Pipelines []string         // patterns as path.Match has them; empty for all pipelines
	Expires   time.Time        // zero for never
}

// AccessOf returns what is shown of an access token.
func AccessOf(t landscape.AccessToken) Access {
	a := Access{
		ID: t.ID, Name: t.Name, Pipelines: landscape.Listed(t.Pipelines), Expires: Time(t.Expires), Revoked: t.Action == landscape.RevokeAccess, Actor: t.Actor, Why: t.Why, At: Time(t.At),
	}
	for _, role := range landscape.Listed(t.Roles) {
		a.Roles = append(a.Roles, landscape.Role(role))
	}
	return a
}

// accessToken is the form of an access token: its id and its secret.
var accessToken = regexp.MustCompile(`^wmk_([0-9a-f]{12})_([0-9A-Za-z_-]{43})$`)

// GrantAccess makes an access token. Its secret is nowhere on record. The error is an *Error of kind Invalid if the request makes no sense.
func (c *Client) GrantAccess(ctx context.Context, r AccessRequest) (granted *Granted, err error) {
	defer c.edge(ctx, &err)
	if err := r.check(c.log.Now().Time()); err != nil {
		return nil, err
	}
	random := make([]byte, 6+32)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	id, secret := hex.EncodeToString(random[:6]), base64.RawURLEncoding.EncodeToString(random[6:])
	roles := make([]string, len(r.Roles))
	for i, role := range r.Roles {
		roles[i] = string(role)
	}
	row := landscape.AccessToken{
		Action: landscape.GrantAccess, Name: r.Name, SHA256: digestOf(secret), Roles: landscape.List(roles), Pipelines: landscape.List(r.Pipelines),
		Actor: r.or(c.Actor).Actor, Why: r.Why,
	}
	if !r.Expires.IsZero() {
		row.Expires = landscape.MicrosOf(r.Expires)
	}
	row, err = c.log.ChangeAccess(ctx, id, func(last *landscape.AccessToken) (landscape.AccessToken, error) {
		if last != nil {
			return row, fmt.Errorf("access token %s is there already: try again", id)
		}
		return row, nil
	})
	return &Granted{Access: AccessOf(row), Token: "wmk_" + id + "_" + secret}, err
}

func digestOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// check refuses a request that makes no sense.
func (r *AccessRequest) check(now time.Time) error {
	if err := r.giveWhy(); err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		return &Error{Kind: Invalid, Code: InvalidOption, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case r.Name == "" || len(r.Name) > 128 || strings.ContainsFunc(r.Name, func(c rune) bool { return !unicode.IsGraphic(c) }):
		return refuse("%.64q is no name of who acts with the token: write up to 128 visible characters", r.Name)
	case len(r.Roles) == 0:
		return refuse("a token without a role may do nothing: give it one of %v", landscape.Roles())
	case !r.Expires.IsZero() && landscape.MicrosOf(r.Expires) <= landscape.MicrosOf(now):
		return refuse("the token would have expired before it is used: %s is over", r.Expires.UTC().Format(time.RFC3339))
	}
	for _, role := range r.Roles {
		if !slices.Contains(landscape.Roles(), role) {
			return refuse("there is no role %q: choose among %v", role, landscape.Roles())
		}
	}
	for _, pattern := range r.Pipelines {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return refuse("%q is no pattern of names of pipelines: write a name, or one with * for any characters", pattern)
		}
	}
	return nil
}

// RevokeAccess ends an access token for ever; changed is false of one that was revoked before. It counts for every request that comes later. The error is an
// *Error of kind NotFound if there is no such token.
func (c *Client) RevokeAccess(ctx context.Context, id string, by By) (changed bool, err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return false, err
	}
	known, err := c.AccessToken(ctx, id)
	if err != nil || known.Action == landscape.RevokeAccess {
		return false, err
	}
	_, err = c.log.ChangeAccess(ctx, id, func(last *landscape.AccessToken) (landscape.AccessToken, error) {
		row := *last
		if changed = row.Action != landscape.RevokeAccess; !changed {
			return row, errRevoked
		}
		row.Action, row.Actor, row.Why = landscape.RevokeAccess, by.or(c.Actor).Actor, by.Why
		return row, nil
	})
	if errors.Is(err, errRevoked) {
		return false, nil
	}
	return changed, err
}

var errRevoked = errors.New("somebody else revoked it")

// AccessTokens returns all access tokens, also those that do not count any more, by id; it is empty, not nil, if there is none.
func (c *Client) AccessTokens(ctx context.Context) (list []Access, err error) {
	defer c.edge(ctx, &err)
	rows, err := c.log.AccessTokens(ctx)
	list = make([]Access, len(rows))
	for i, row := range rows {
		list[i] = AccessOf(row)
	}
	return list, err
}

// Authenticate returns the access token that a request sends, and whether it counts now. It does not if somebody revoked it, if it expired, or if nobody granted
// it; which of these, only the record says.
func (c *Client) Authenticate(ctx context.Context, sent string) (token landscape.AccessToken, counts bool, err error) {
	defer c.edge(ctx, &err)
	parts := accessToken.FindStringSubmatch(sent)
	if parts == nil {
		return token, false, nil
	}
	token, err = c.log.AccessToken(ctx, parts[1])
	if err != nil {
		if errors.Is(err, landscape.ErrNotFound) {
			err = nil
		}
		return token, false, err
	}
	same := subtle.ConstantTimeCompare([]byte(digestOf(parts[2])), []byte(token.SHA256)) == 1
	return token, same && token.Valid(c.log.Now().Time()), nil
}

// AccessToken returns the last record of an access token. The error is an *Error of kind NotFound if there is none.
func (c *Client) AccessToken(ctx context.Context, id string) (token landscape.AccessToken, err error) {
	defer c.edge(ctx, &err)
	token, err = c.log.AccessToken(ctx, id)
	if errors.Is(err, landscape.ErrNotFound) {
		err = NoAccess(id)
	}
	return token, err
}

// NoAccess is the error for the id of an access token that there is not, or that somebody may not see.
func NoAccess(id string) *Error {
	return &Error{
		Kind: NotFound, Code: AccessNotFound, Message: fmt.Sprintf("there is no access token %.64q", id),
		Cure: ListAccess, Err: landscape.ErrNotFound,
	}
}

// Disclosure says that somebody was shown values of rows.
type Disclosure struct {
	ID      string `json:"disclosure"`
	Run     string `json:"run"`
	Actor   string `json:"actor"`
	Access  string `json:"access_token"` // id of the one with which it was asked for
	What    string `json:"what"`
	Subject string `json:"subject"`
	At      Time   `json:"at"`
}

// Disclose records that somebody is about to be shown values of rows of a run. If it fails they must not be.
func (c *Client) Disclose(ctx context.Context, run string, by landscape.AccessToken, what, subject string) (err error) {
	defer c.edge(ctx, &err)
	return c.log.RecordDisclosure(ctx, landscape.Disclosure{
		ID: uuid.Must(uuid.NewV7()).String(), Run: run, Actor: by.Name, Access: by.ID, What: what, Subject: subject,
	})
}

// Disclosures returns who was shown values, the last first: those before the one whose ID is before, or from the last if that is empty; at most limit, or all
// if that is 0. It is empty, not nil, if there is none.
func (c *Client) Disclosures(ctx context.Context, before string, limit int) (list []Disclosure, err error) {
	defer c.edge(ctx, &err)
	rows, err := c.log.Disclosures(ctx, before, limit)
	list = make([]Disclosure, len(rows))
	for i, row := range rows {
		list[i] = Disclosure{ID: row.ID, Run: row.Run, Actor: row.Actor, Access: row.Access, What: row.What, Subject: row.Subject, At: Time(row.At)}
	}
	return list, err
}
