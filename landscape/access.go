package landscape

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Role is what the holder of a token may do. Stored; never rename one.
type Role string

// The roles. docs/api.md lists what each may do.
const (
	Viewer   Role = "viewer"   // sees runs, without values of rows
	Auditor  Role = "auditor"  // sees values, too
	Service  Role = "service"  // starts runs, and sees those that it started
	Operator Role = "operator" // sees runs, starts them, and gives orders to them
	Deployer Role = "deployer" // what an operator may, and changes which version of a pipeline is current
	Admin    Role = "admin"    // sees who has tokens, and who looked at what
)

// Roles returns all roles.
func Roles() []Role { return []Role{Viewer, Auditor, Service, Operator, Deployer, Admin} }

// AccessAction is how a token became what it is. Stored; never rename one.
type AccessAction string

// The actions.
const (
	GrantAccess  AccessAction = "grant"
	RevokeAccess AccessAction = "revoke"
)

// AccessToken says who may use the API, and for what, until its next row says otherwise. The record has no secret.
type AccessToken struct {
	ID        string       `db:"token,key"`
	Seq       int64        `db:"seq,key"` // from 0; set by Log
	Action    AccessAction `db:"action"`
	Name      string       `db:"name"`       // who acts with it, as records say
	SHA256    string       `db:"sha256"`     // of the secret, in hex
	Roles     string       `db:"roles"`      // JSON array, not empty
	Pipelines string       `db:"pipelines"`  // JSON array of patterns of names, as path.Match has them; empty for all
	Expires   Micros       `db:"expires_us"` // 0 for never
	Actor     string       `db:"actor"`
	Why       string       `db:"why"`
	At        Micros       `db:"at_us"` // set by Log
}

// Table returns access_tokens.
func (AccessToken) Table() string { return "access_tokens" }

// Valid reports whether the token counts at a time: nobody revoked it, and it has not expired.
func (t AccessToken) Valid(at time.Time) bool {
	return t.Action != RevokeAccess && (t.Expires == 0 || MicrosOf(at) < t.Expires)
}

// Has reports whether the token has one of the roles.
func (t AccessToken) Has(roles ...Role) bool {
	return slices.ContainsFunc(Listed(t.Roles), func(role string) bool { return slices.Contains(roles, Role(role)) })
}

// Sees reports whether the token is about a pipeline of this name.
func (t AccessToken) Sees(pipeline string) bool {
	patterns := Listed(t.Pipelines)
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, err := path.Match(pattern, pipeline)
		return matched && err == nil
	})
}

// Covers reports whether a token is about every pipeline that another one is about, as the patterns of that say. A
// pattern is covered if it is one of the token's own, or begins as one of these does up to its only *, at its end.
func (t AccessToken) Covers(patterns []string) bool {
	own := Listed(t.Pipelines)
	if len(own) == 0 {
		return true
	}
	covered := func(pattern string) bool {
		literal, _, open := cutPattern(pattern)
		return slices.ContainsFunc(own, func(mine string) bool {
			begins, rest, _ := cutPattern(mine)
			return mine == pattern || rest == "*" && strings.HasPrefix(literal, begins) || !open && t.Sees(pattern)
		})
	}
	return len(patterns) > 0 && !slices.ContainsFunc(patterns, func(pattern string) bool { return !covered(pattern) })
}

// cutPattern divides a pattern before its first character that does not stand for itself; open reports whether there is
// one.
func cutPattern(pattern string) (literal, rest string, open bool) {
	at := strings.IndexAny(pattern, `*?[\`)
	if at < 0 {
		return pattern, "", false
	}
	return pattern[:at], pattern[at:], true
}

// ChangeAccess appends what change makes of the last row of a token, which is nil if there is none. It is called again if somebody else changed the token meanwhile.
func (l *Log) ChangeAccess(ctx context.Context, id string, change func(last *AccessToken) (AccessToken, error)) (row AccessToken, err error) {
	err = settle(AccessToken{}.Table(), func() error {
		last, err := lastOf[AccessToken](ctx, l, id)
		if err != nil {
			return err
		}
		if row, err = change(last); err != nil {
			return err
		}
		row.ID, row.Seq, row.At = id, 0, l.now()
		if last != nil {
			row.Seq = last.Seq + 1
		}
		return l.plain.Commit(ctx, Tx{Insert: []Record{row}})
	})
	return row, err
}

// AccessTokens returns the last row of every token, by id; nil if there is none.
func (r *Reader) AccessTokens(ctx context.Context) ([]AccessToken, error) {
	return lastOfEach(ctx, r.from, func(t AccessToken) string { return t.ID })
}

// AccessToken returns the last row of a token. The error wraps ErrNotFound if there is none.
func (r *Reader) AccessToken(ctx context.Context, id string) (AccessToken, error) {
	last, err := lastOf[AccessToken](ctx, r.from, id)
	if err == nil && last == nil {
		err = fmt.Errorf("access token %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return AccessToken{}, err
	}
	return *last, nil
}

// Disclosure says that somebody was shown values of rows. It is recorded before the first of them is.
type Disclosure struct {
	ID      string `db:"disclosure,key"` // a UUID of version 7: disclosures are in the order of time, as far as clocks agree
	Run     string `db:"run_id"`
	Actor   string `db:"actor"`
	Access  string `db:"access_token"` // id of the one with which it was asked for
	What    string `db:"what"`         // such as explain
	Subject string `db:"subject"`      // what was asked for, such as the id of a row
	At      Micros `db:"at_us"`        // set by Log
}

// Table returns disclosures.
func (Disclosure) Table() string { return "disclosures" }

// RecordDisclosure records that somebody is about to be shown values.
func (l *Log) RecordDisclosure(ctx context.Context, shown Disclosure) error {
	shown.At = l.now()
	return l.plain.Commit(ctx, Tx{Insert: []Record{shown}})
}

// Disclosures returns who was shown values, the last first, those before the one with an id, of all if that is empty; at most limit, or all with 0; nil if there is none.
func (r *Reader) Disclosures(ctx context.Context, before string, limit int) ([]Disclosure, error) {
	query := Query{Descending: true, Limit: limit}
	if before != "" {
		query.After = []any{before}
	}
	return Page[Disclosure](ctx, r.from, query)
}
