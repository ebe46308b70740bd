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

// Signatures are those of a head that a policy knows of, beside the one of the log's key that counts there.
type Signatures struct {
	Cosigned []Cosignature // that the policy's witnesses put under the head, in its order; empty, not nil, if there are none
	Quantum  string        // the log's key of ML-DSA-44 that signed it, as name+hash; empty if the policy has none
}

// trusts returns nil if a policy trusts the log with these keys, or there is no policy. The last of them signs the head: it may be trusted, or a key that
// says which one follows. If of this log the policy has keys of ML-DSA-44 alone, openCosigned says whether one of them signed the head.
func trusts(policy *trust.Policy, of LogKeys) error {
	if policy == nil {
		return nil
	}
	if quantum := quantumOf(policy, of.origin()); len(quantum) > 0 && len(quantum) == len(logsOf(policy, of.origin())) {
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

// logsOf are the keys that a policy has of the log with this name.
func logsOf(policy *trust.Policy, origin string) (logs []trust.Log) {
	for _, log := range policy.Logs {
		if log.Name() == origin {
			logs = append(logs, log)
		}
	}
	return logs
}

// quantumOf are those of them that are of ML-DSA-44.
func quantumOf(policy *trust.Policy, origin string) []trust.Log {
	return slices.DeleteFunc(logsOf(policy, origin), func(log trust.Log) bool { return !log.Quantum() })
}

// openCosigned opens a head in the one form, which the log signed first, and returns which of the policy's keys signed it as well. The error says that one of
// these signatures is wrong, that the policy has keys of ML-DSA-44 for this log and none of them signed, or that the witnesses are not the quorum. Other
// signatures are skipped.
func openCosigned(text string, by LogKeys, policy *trust.Policy) (head Head, found Signatures, err error) {
	if policy == nil {
		policy = &trust.Policy{}
	}
	if head, err = openHead(text, by); err != nil {
		return head, found, err
	}
	var known []note.Verifier
	for _, w := range policy.Witnesses {
		known = append(known, w.Verifier)
	}
	quantum := quantumOf(policy, by.origin())
	for _, log := range quantum {
		known = append(known, log.Verifier)
	}
	n, err := note.Open([]byte(text), by.verifiers(known...))
	if err != nil {
		return head, found, err
	}
	if !inOneForm(n, text, fmt.Sprintf("%s\n%d\n%s\n", by.origin(), head.Size, head.Root), by.at(head.Size)) {
		return head, found, errors.New("it is not in the strict form")
	}
	found.Cosigned = []Cosignature{}
	names := map[string]bool{}
	for _, w := range policy.Witnesses {
		if _, at, ok := w.By(n); ok {
			found.Cosigned, names[w.Name] = append(found.Cosigned, Cosignature{w.Name, at}), true
		}
	}
	if found.Quantum, err = signedByOne(n, quantum); err != nil {
		return head, found, err
	}
	return head, found, policy.Check(names)
}

// signedByOne returns which of these keys of ML-DSA-44 signed a note, as name+hash. The error says that none did, if there are any.
func signedByOne(n *note.Note, quantum []trust.Log) (string, error) {
	for _, log := range quantum {
		if _, ok := signatureBy(log, n); ok {
			return short(log.Key), nil
		}
	}
	if len(quantum) == 0 {
		return "", nil
	}
	return "", fmt.Errorf("the post-quantum key %s did not sign it, and the policy has it: if the head is older than this key, the policy of then trusts it", short(quantum[0].Key))
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
	first, ok := signatureBy(by, n)
	return ok && strings.HasPrefix(rest, cosign.Line(first))
}
