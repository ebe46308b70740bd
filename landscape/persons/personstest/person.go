// Package personstest makes up persons who sign guarded changes, for tests.
package personstest

import (
	"crypto/ed25519"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"waymark/landscape"
	"waymark/landscape/persons"
)

// Person has an SSH key, and a line in an approvers file.
type Person struct {
	persons.Approver
	Signer ssh.Signer
}

// New makes up a person of this name.
func New(t testing.TB, name string) Person {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	key, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return As(t, name, key)
}

// As makes up a person with a key.
func As(t testing.TB, name string, key ssh.Signer) Person {
	t.Helper()
	line, err := persons.ParseApprover(name + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey()))))
	require.NoError(t, err)
	return Person{line, key}
}

// File is the approvers file of some persons.
func File(of ...Person) string {
	var b strings.Builder
	for _, p := range of {
		b.WriteString(p.Line + "\n")
	}
	return b.String()
}

// Propose returns an order about a run that the person signed, and that expires after an hour.
func (p Person) Propose(t testing.TB, verb landscape.OrderVerb, run string, args map[string]string,
	at time.Time) landscape.ApprovalRequest {
	t.Helper()
	s, err := persons.NewOrder(verb, run, args, map[string]string{"epoch": "0"}, "they are known", p.Approver, "f00d", at, at.Add(time.Hour))
	require.NoError(t, err)
	order, err := s.Sign(p.Signer, p.Approver)
	require.NoError(t, err)
	return order
}

// Sign returns what the person signed under an order.
func (p Person) Sign(t testing.TB, o landscape.ApprovalRequest, kind landscape.AssentKind,
	at time.Time) landscape.Approval {
	t.Helper()
	s, err := persons.NewAssent(kind, o.Digest, "I looked", p.Approver, "f00d", at)
	require.NoError(t, err)
	record, err := s.Record(o, p.Approver)
	require.NoError(t, err)
	require.NoError(t, s.Sign(p.Signer, &record))
	return record
}
