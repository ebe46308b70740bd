package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"golang.org/x/crypto/ssh"

	"waymark/landscape"
)

// noted is what an entry says of a record of approval requests. No name is in it.
func noted(r landscape.Record) (s Statement, at landscape.Micros) {
	sum := sha256.Sum256(append(landscape.TableOf(r).AppendLine(nil, r), '\n'))
	s.Records = hex.EncodeToString(sum[:])
	switch r := r.(type) {
	case landscape.ApprovalRule:
		s.Type, s.Verb, s.Rule, at = Ruled, string(r.Verb), r.Seq, r.At
	case landscape.ApprovalRequest:
		s.Type, s.Digest, s.Run, at = Requested, r.Digest, r.Run, r.At
	case landscape.Approval:
		s.Type, s.Digest, s.Run, s.Approval, at = Approved, r.Order, r.Run, r.Seq, r.At
	case landscape.ApprovedExecution:
		s.Type, s.Digest, s.Run, at = Executed, r.Order, r.Run, r.At
	}
	s.At = at.Time().UTC().Format(moment)
	return s, at
}

// Notes reports whether a statement is about a record of approval requests, and says what is recorded.
func (s Statement) Notes(r landscape.Record) bool {
	want, _ := noted(r)
	want.N, want.V = s.N, s.V
	return s == want
}

// Noted does what landscape.Sealer says.
func (s sealer) Noted(r landscape.Record) (landscape.LogEntry, error) {
	said, at := noted(r)
	said.N = chance()
	return entry(said, s.key, at.Time())
}

// Saw does what landscape.Sealer says.
func (s sealer) Saw(person, key string, at landscape.Micros) (landscape.LogEntry, error) {
	return entry(Statement{Type: Saw, Note: sighted(person, key)}, s.key, at.Time())
}

// sighted is the SHA-256, in hex, of a person and a key, a line each.
func sighted(person, key string) string {
	sum := sha256.Sum256([]byte(person + "\n" + key + "\n"))
	return hex.EncodeToString(sum[:])
}

// KeyText is how a person's key is seen: its type, and its bytes in base64.
func KeyText(key ssh.PublicKey) string {
	return key.Type() + " " + base64.StdEncoding.EncodeToString(key.Marshal())
}

// SeenSince returns when the log saw a person's key for the first time, as its entry says; ok is false if it did not. No signature is verified.
func SeenSince(ctx context.Context, log *landscape.Reader, person string, key ssh.PublicKey) (since time.Time, ok bool, err error) {
	e, err := log.LogEntryAbout(ctx, Statement{Type: Saw, Note: sighted(person, KeyText(key))}.about())
	if errors.Is(err, landscape.ErrNotFound) {
		return since, false, nil
	}
	if err != nil {
		return since, false, err
	}
	s, _, err := read(e.Entry)
	if err == nil {
		since, err = time.Parse(moment, s.At)
	}
	if err != nil {
		return since, false, fmt.Errorf("entry %d of the log: %w", e.Position, err)
	}
	return since, true, nil
}

// orders compares the rules about guarded changes, what was proposed, signed and executed with the entries about that.
func (c *checker) orders(ctx context.Context) error {
	if c.ring.log == nil {
		return nil
	}
	err := errors.Join(
		landscape.Each(ctx, c.log, func(r landscape.ApprovalRule) bool {
			return c.order(r, "rule %d of %s", r.Seq, r.Verb)
		}),
		landscape.Each(ctx, c.log, func(r landscape.ApprovalRequest) bool {
			return c.order(r, "order %.12s", r.Digest)
		}),
		landscape.Each(ctx, c.log, func(r landscape.Approval) bool { return c.order(r, "signature %d under order %.12s", r.Seq, r.Order) }),
		landscape.Each(ctx, c.log, func(r landscape.ApprovedExecution) bool {
			return c.order(r, "execution of order %.12s", r.Order)
		}),
	)
	c.missing(c.ordered)
	return err
}

// ordered reports whether the record of approval requests that a statement is about is there as it says.
func (s Statement) ordered(ctx context.Context, log *landscape.Reader) (is bool, err error) {
	same := func(r landscape.Record) bool {
		is = is || s.Notes(r)
		return !is
	}
	err = errors.Join(
		landscape.Each(ctx, log, func(r landscape.ApprovalRule) bool { return same(r) }),
		landscape.Each(ctx, log, func(r landscape.ApprovalRequest) bool { return same(r) }),
		landscape.Each(ctx, log, func(r landscape.Approval) bool { return same(r) }),
		landscape.Each(ctx, log, func(r landscape.ApprovedExecution) bool { return same(r) }),
	)
	return is, err
}

// order compares a record of approval requests with its entry.
func (c *checker) order(r landscape.Record, what string, args ...any) bool {
	want, _ := noted(r)
	about, where := want.about(), fmt.Sprintf(what, args...)
	s, ok := c.ordered[about]
	delete(c.ordered, about)
	switch {
	case !ok:
		c.problem(where, "has no entry: a process without a key recorded it, or it was made up")
	case !s.Notes(r):
		c.problem(where, "is recorded otherwise than its entry %d says", s.position)
	default:
		c.Orders++
	}
	return true
}
