package persons

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"

	"waymark/landscape"
)

// MinAge is how long a key must be known before its signature under a guarded change counts: who can add a line to the
// approvers file is not two persons at once.
const MinAge = 24 * time.Hour

// Case is an order with the signatures under it, and what they are worth now.
type Case struct {
	OrderStatement
	Digest  string   `json:"request"`
	Signers []Signer `json:"signers"`           // who proposed it, and then those who approved or reviewed it, the oldest first
	Problem string   `json:"problem,omitempty"` // why nobody can execute it: the order itself does not hold, or expired
}

// Signer is a person who signed an order.
type Signer struct {
	Kind    string    `json:"kind"` // proposal, approval or review
	Person  string    `json:"person"`
	Name    string    `json:"name"`
	At      time.Time `json:"at"`
	Why     string    `json:"why"`
	Problem string    `json:"problem,omitempty"` // why the signature does not count; empty if it does
}

// Signature is one that somebody made, or is about to make, under an order.
type Signature struct {
	Person string
	Key    ssh.PublicKey
	At     time.Time
}

// ErrNotCounted says that a signature under an order does not count.
var ErrNotCounted = errors.New("does not count")

// Jury decides whose signatures under an order count.
type Jury struct {
	Approvers *Approvers // of now; not nil
	Now       time.Time

	// Known returns since when a person's key is known: its signatures count from MinAge after that on. One that was known when the rule came that asks for several
	// persons counts at once: then it returns the zero time. ok is false if nobody has seen the key.
	Known func(person string, key ssh.PublicKey) (since time.Time, ok bool)
}

// Counts says why a signature does not count beside others; nil if it does. The error wraps ErrNotCounted.
func (j *Jury) Counts(s Signature, others []Signature) error {
	if err := s.another(others); err != nil {
		return err
	}
	for _, at := range []time.Time{s.At, j.Now} {
		if err := s.allowed(j.Approvers, at); err != nil {
			return err
		}
	}
	since, ok := j.Known(s.Person, s.Key)
	switch {
	case !ok:
		return fmt.Errorf("the signature of %s %w: the log has not seen the key yet", s.Person, ErrNotCounted)
	case s.At.Before(since.Add(MinAge)) && !since.IsZero():
		return fmt.Errorf("the signature of %s %w: the key is known since %s, and counts from %s on", s.Person, ErrNotCounted, since.UTC().Format(time.RFC3339), since.Add(MinAge).UTC().Format(time.RFC3339))
	}
	return nil
}

// another requires that a signature is of another person, with another key, than those before it; the first of these proposed the order.
func (s Signature) another(others []Signature) error {
	for i, other := range others {
		who := "signed"
		if i == 0 {
			who = "proposed it"
		}
		switch {
		case other.Person == s.Person && sameKey(other.Key, s.Key):
			return fmt.Errorf("the signature of %s %w: %s %s with the same key", s.Person, ErrNotCounted, s.Person, who)
		case other.Person == s.Person:
			return fmt.Errorf("the signature of %s %w: %s %s with another key, and is one person", s.Person, ErrNotCounted, s.Person, who)
		case sameKey(other.Key, s.Key):
			return fmt.Errorf("the signature of %s %w: %s %s with the same key", s.Person, ErrNotCounted, other.Person, who)
		}
	}
	return nil
}

// allowed requires that approvers let the key sign orders at a time, as the same person.
func (s Signature) allowed(approvers *Approvers, at time.Time) error {
	line, err := approvers.Of(s.Key, Orders, at)
	if err == nil && line.Person != s.Person {
		err = fmt.Errorf("its key is %s's now", line.Person)
	}
	if err != nil {
		err = fmt.Errorf("the signature of %s %w: %w", s.Person, ErrNotCounted, err)
	}
	return err
}

// Open says why nobody can approve or execute an order; nil if somebody can.
func (j *Jury) Open(o landscape.ApprovalRequest) error {
	if !j.Now.Before(o.Expires.Time()) {
		return fmt.Errorf("order %.12s expired at %s: propose it again", o.Digest, o.Expires.Time().UTC().Format(time.RFC3339))
	}
	return nil
}

// Consider verifies an order and the signatures under it.
func (j *Jury) Consider(o landscape.ApprovalRequest, approvals []landscape.Approval) Case {
	c := consider(o, approvals, j.Counts)
	if err := j.Open(o); err != nil && c.Problem == "" {
		c.Problem = err.Error()
	}
	return c
}

// consider verifies an order and the signatures under it. counts says why one that holds does not count beside others of its kind.
func consider(o landscape.ApprovalRequest, approvals []landscape.Approval,
	counts func(Signature, []Signature) error) Case {
	s, key, err := VerifyOrder(o)
	c := Case{OrderStatement: s, Digest: o.Digest}
	proposer := Signer{Kind: "proposal", Person: o.Person, Name: s.Name, At: o.At.Time().UTC(), Why: s.Why}
	counted := map[landscape.AssentKind][]Signature{} // each with who proposed it
	if err == nil {
		first := Signature{o.Person, key, o.At.Time()}
		counted[landscape.Approves], counted[landscape.Reviews] = []Signature{first}, []Signature{first}
		err = counts(first, nil)
	}
	if err != nil {
		proposer.Problem, c.Problem = err.Error(), err.Error()
	}
	c.Signers = append(c.Signers, proposer)
	for _, a := range approvals {
		said, key, err := VerifyAssent(a)
		one := Signer{Kind: string(a.Kind), Person: a.Person, Name: said.Name, At: a.At.Time().UTC(), Why: said.Why}
		if err == nil {
			err = counts(Signature{a.Person, key, a.At.Time()}, counted[a.Kind])
		}
		if err != nil {
			one.Problem = err.Error()
		} else {
			counted[a.Kind] = append(counted[a.Kind], Signature{a.Person, key, a.At.Time()})
		}
		c.Signers = append(c.Signers, one)
	}
	return c
}

// Persons returns how many persons want the order to be executed: who proposed it, and those who approved it.
func (c *Case) Persons() (persons int64) { return c.count("proposal", string(landscape.Approves)) }

// Reviewers returns how many persons looked at what one person executed.
func (c *Case) Reviewers() int64 { return c.count(string(landscape.Reviews)) }

func (c *Case) count(kinds ...string) (n int64) {
	for _, s := range c.Signers {
		for _, kind := range kinds {
			if s.Kind == kind && s.Problem == "" {
				n++
			}
		}
	}
	return n
}

// Executable says why an order cannot be executed if it needs so many persons; nil if it can. In an emergency its own signature suffices. The error wraps
// landscape.ErrTooFew if more persons must sign it, and names the signatures that do not count.
func (c *Case) Executable(needed int64, emergency bool) error {
	switch {
	case c.Problem != "":
		return errors.New(c.Problem)
	case c.Persons() >= needed, emergency:
		return nil
	}
	err := fmt.Errorf("order %.12s needs %d persons, and %d signed it so that it counts: %w", c.Digest, needed, c.Persons(), landscape.ErrTooFew)
	for _, s := range c.Signers {
		if s.Problem != "" {
			err = fmt.Errorf("%w; %s", err, s.Problem)
		}
	}
	return err
}

// Changed names what is not as it was when the order was proposed; nil if all is.
func (s OrderStatement) Changed(now map[string]string) (found []string) {
	names := maps.Clone(now)
	maps.Copy(names, s.State)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if was, is := s.State[name], now[name]; was != is {
			found = append(found, fmt.Sprintf("%s was %s when it was proposed, and is %s", name, cmp.Or(was, "not there"), cmp.Or(is, "not there")))
		}
	}
	return found
}
