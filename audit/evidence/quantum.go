package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"waymark/audit/evidence/keys"
)

// quantumKeys are the keys of ML-DSA-44 that a log has had, the first one first. The last one signs heads; nil if the log has none.
type quantumKeys []quantumKey

// quantumKey is a key of ML-DSA-44. It is too long for an entry.
type quantumKey struct {
	digest string // digestOfKey
	at     int64  // the entry that names it
}

// digestOfKey is what an entry has of a public key that is too long for it: the SHA-256, in hex, of name+hash+base64 with a line end.
func digestOfKey(vkey string) string {
	sum := sha256.Sum256([]byte(vkey + "\n"))
	return hex.EncodeToString(sum[:])
}

// signs reports whether a public key is the one that signs heads.
func (q quantumKeys) signs(vkey string) bool {
	return len(q) > 0 && q[len(q)-1].digest == digestOfKey(vkey)
}

// has reports whether a public key is one of them.
func (q quantumKeys) has(vkey string) bool {
	return slices.ContainsFunc(q, func(key quantumKey) bool { return key.digest == digestOfKey(vkey) })
}

// secure appends the entry that names the key of ML-DSA-44 in the folder, if the log does not have it yet. A key that cannot be used stops nothing: Silent says so.
func (n *Notary) secure(ctx context.Context) error {
	key, err := keys.Load(n.folder, keys.Quantum)
	if err != nil || n.quantum.has(key.VKey) || key.Name() != n.own.origin() {
		return nil //nolint:nilerr // Silent says so
	}
	return n.say(ctx, Statement{Type: Secured, Note: digestOfKey(key.VKey), Why: "made beside the key of the log"})
}

// signQuantum lets the log's key of ML-DSA-44 sign a head as well, if the log has one and it is at hand: Silent says if it is not.
func (n *Notary) signQuantum(head Head, known quantumKeys) Head {
	if known == nil {
		return head
	}
	key, err := keys.Load(n.folder, keys.Quantum)
	if err != nil || !known.signs(key.VKey) {
		return head
	}
	signed, err := head.alsoBy(key)
	if err != nil {
		return head
	}
	return signed
}

// silentQuantum says why heads have no signature of the log's key of ML-DSA-44; nil if they have, or if the log has none. A new one is named by the next pass.
func silentQuantum(folder, origin string, known quantumKeys) error {
	key, err := keys.Load(folder, keys.Quantum)
	switch {
	case errors.Is(err, keys.ErrNone) && known == nil, err == nil && known.signs(key.VKey):
		return nil
	case err != nil:
	case key.Name() != origin:
		err = fmt.Errorf("%s is the key of %s, not of %s", key.Place, key.Name(), origin)
	case known.has(key.VKey):
		err = fmt.Errorf("%s was replaced in entry %d", key.Place, known[len(known)-1].at)
	default:
		return nil
	}
	return fmt.Errorf("heads of the log have no post-quantum signature, which readers of a policy with that key require: put the key back, or make another one with waymark keys generate --pq: %w", err)
}
