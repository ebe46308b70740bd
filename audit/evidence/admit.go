package evidence

import (
	"context"
	"fmt"
	"time"

	"waymark/audit/evidence/keys"
	"waymark/landscape"
)

// Admit lets the entries of a sealer's key count from now on. Of one that counts, changed is false.
func (n *Notary) Admit(ctx context.Context, key, why string) (changed bool, err error) {
	ring, err := n.ring(ctx, key)
	switch {
	case err != nil:
		return false, err
	case ring.revoked[key] > 0:
		return false, fmt.Errorf("the key %s was revoked, in entry %d: make another one", short(key), ring.revoked[key])
	case ring.sealers[key] != nil:
		return false, nil
	}
	return true, n.state(ctx, Statement{Type: Admitted, Key: key, Why: why})
}

// Revoke lets the entries of a sealer's key count no more. Those before keep counting: where they are in the log is known. Of one
// that is revoked, changed is false. The error is a *landscape.NeedsOrderError if one person may not.
func (n *Notary) Revoke(ctx context.Context, key, why string) (changed bool, err error) {
	ring, err := n.ring(ctx, key)
	switch {
	case err != nil:
		return false, err
	case ring.revoked[key] > 0:
		return false, nil
	case ring.sealers[key] == nil:
		return false, fmt.Errorf("the key %s does not count: it was never admitted", short(key))
	}
	return true, n.state(ctx, Statement{Type: Revoked, Key: key, Why: why})
}

// ring returns the keys that count now. It refuses a key that is none.
func (n *Notary) ring(ctx context.Context, key string) (*keyring, error) {
	if _, err := trusted(key); err != nil {
		return nil, err
	}
	size, err := n.log.LogSize(ctx)
	if err != nil {
		return nil, err
	}
	return keysOf(ctx, n.log.Reader, size)
}

// state appends a statement, and signs the log with it.
func (n *Notary) state(ctx context.Context, s Statement) error {
	err := n.once(ctx, func() error { return n.say(ctx, s) })
	if err == nil {
		err = n.Pass(ctx)
	}
	return err
}

// KnownKey is a key of the log.
type KnownKey struct {
	Key     string `json:"key"`               // name+hash+base64
	Kind    string `json:"kind"`              // log, log-pq or sealer
	Since   int64  `json:"since"`             // the entry from which on it counts
	Revoked int64  `json:"revoked,omitempty"` // the entry from which on it does not; 0 if it counts

	Replaced int64     `json:"replaced,omitempty"` // of the log: the entry that names the next one; 0 if it signs
	Until    time.Time `json:"until,omitzero"`     // of the log: until when it signs heads beside the next one; zero if it does not
	Retired  int64     `json:"retired,omitempty"`  // of the log: the entry from which on it signs none

	Digest string `json:"key_sha256,omitempty"` // of a key of ML-DSA-44: see IsKey. Its Key is empty, because the log does not have it
}

// IsKey reports whether a public key, as name+hash+base64, is this one.
func (k KnownKey) IsKey(vkey string) bool {
	return k.Key == vkey || k.Digest != "" && k.Digest == digestOfKey(vkey)
}

// Keys returns the keys of the log, in the order in which they came; nil if it has not begun.
func Keys(ctx context.Context, log *landscape.Reader) (known []KnownKey, err error) {
	size, err := log.LogSize(ctx)
	if err != nil || size == 0 {
		return nil, err
	}
	ring, err := keysOf(ctx, log, size)
	if err != nil {
		return nil, err
	}
	for i, key := range ring.log {
		of := KnownKey{Key: key.vkey, Kind: "log", Since: max(key.from-1, 0)}
		if i+1 < len(ring.log) {
			of.Replaced = ring.log[i+1].from - 1
			if key.retired > 0 {
				of.Retired = key.retired - 1
			} else {
				of.Until = key.replaced.Add(Overlap)
			}
		}
		known = append(known, of)
	}
	for i, key := range ring.quantum {
		of := KnownKey{Kind: string(keys.Quantum), Since: key.at, Digest: key.digest}
		if i+1 < len(ring.quantum) {
			of.Replaced = ring.quantum[i+1].at
		}
		known = append(known, of)
	}
	for key, since := range ring.since {
		known = append(known, KnownKey{Key: key, Kind: "sealer", Since: since, Revoked: ring.revoked[key]})
	}
	sortKeys(known)
	return known, nil
}

// Refuses says why a sealer's key does not count in the log, and what can be done; empty if it counts, or the log has not begun.
func Refuses(ctx context.Context, log *landscape.Reader, sealer string) (string, error) {
	size, err := log.LogSize(ctx)
	if err != nil || size == 0 {
		return "", err
	}
	ring, err := keysOf(ctx, log, size)
	if err != nil {
		return "", err
	}
	return ring.refuses(sealer), nil
}
