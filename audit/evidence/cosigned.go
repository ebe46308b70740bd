package evidence

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence/cosign"
	"waymark/audit/evidence/trust"
)

// trusts returns nil if a policy trusts the log with these keys, or there is no policy. The last of them signs the head: it may be trusted, or a key that
// says which one follows.
func trusts(policy *trust.Policy, of LogKeys) error {
	if policy == nil {
		return nil
	}
	for _, known := range of {
		key := known.vkey
		if _, ok := policy.LogOf(key); ok {
			return nil
		}
	}
	var trusted []string
	rotated := ""
	for _, log := range policy.Logs {
		trusted = append(trusted, short(log.Key))
		if log.Name() == of.origin() {
			rotated = ": if the key was rotated after this was made, the policy of then trusts it"
		}
	}
	return fmt.Errorf("the log's key is %s, not the trusted %s%s", short(of.last().vkey), strings.Join(trusted, " or "), rotated)
}

// openCosigned opens a head in the one form, which the log signed first, and returns which of the policy's witnesses cosigned it. The error says that one of
// their cosignatures is wrong, or that they are not the quorum. Other signatures are skipped.
func openCosigned(text string, by LogKeys, policy *trust.Policy) (head Head, cosigned []Cosignature, err error) {
	if policy == nil {
		policy = &trust.Policy{}
	}
	if head, err = openHead(text, by); err != nil {
		return head, nil, err
	}
	var known []note.Verifier
	for _, w := range policy.Witnesses {
		known = append(known, w.Verifier)
	}
	n, err := note.Open([]byte(text), by.verifiers(known...))
	if err != nil {
		return head, nil, err
	}
	if !inOneForm(n, text, fmt.Sprintf("%s\n%d\n%s\n", by.origin(), head.Size, head.Root), by.at(head.Size)) {
		return head, nil, errors.New("it is not in the strict form")
	}
	cosigned, names := []Cosignature{}, map[string]bool{}
	for _, w := range policy.Witnesses {
		if _, at, ok := w.By(n); ok {
			cosigned, names[w.Name] = append(cosigned, Cosignature{w.Name, at}), true
		}
	}
	return head, cosigned, policy.Check(names)
}

// inOneForm reports whether a note has this body, and after it the signature of the log and those of others, each once and in the one form of base64.
func inOneForm(n *note.Note, text, body string, by note.Verifier) bool {
	rest, ok := strings.CutPrefix(text, body+"\n")
	signatures := append(slices.Clone(n.Sigs), n.UnverifiedSigs...)
	if !ok || n.Text != body || strings.Count(rest, "\n") != len(signatures) {
		return false
	}
	for _, s := range signatures {
		data, err := base64.StdEncoding.DecodeString(s.Base64)
		if err != nil || base64.StdEncoding.EncodeToString(data) != s.Base64 || !strings.Contains(rest, cosign.Line(s)) {
			return false
		}
	}
	i := slices.IndexFunc(n.Sigs, func(s note.Signature) bool { return s.Name == by.Name() && s.Hash == by.KeyHash() })
	return i >= 0 && strings.HasPrefix(rest, cosign.Line(n.Sigs[i]))
}
