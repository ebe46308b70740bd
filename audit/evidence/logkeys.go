package evidence

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// LogKeys are the keys of a log by position, the first one first. The key at position n signs the entry n, if that is one of the log itself, and the head
// of n entries. It is nil of a log that has not begun.
type LogKeys []logKey

// logKey is a key of a log.
type logKey struct {
	note.Verifier
	vkey string // public, as name+hash+base64
	from int64  // the first position at which it signs; until that of the next key

	replaced time.Time // when the entry was made that names the next key; zero if none does
	retired  int64     // the first position at which it does not sign heads beside the next keys; 0 if none
}

// Overlap is how long a key that was replaced signs heads beside the new one, for readers and witnesses who do not know that one yet.
const Overlap = 30 * 24 * time.Hour

// OneKey returns the keys of a log that has had this one from its beginning, and no other. The error wraps ErrNoKey.
func OneKey(key string) (LogKeys, error) {
	verifier, err := trusted(key)
	if err != nil {
		return nil, err
	}
	return LogKeys{{Verifier: verifier, vkey: key}}, nil
}

// at returns the key at a position; no key if there is none.
func (k LogKeys) at(position int64) logKey {
	for _, key := range slices.Backward(k) {
		if key.from <= position {
			return key
		}
	}
	return logKey{}
}

// beside returns the keys that sign the head of so many entries beside the one that counts there, the newest first.
func (k LogKeys) beside(size int64) (also []logKey) {
	for i, key := range slices.Backward(k) {
		if i+1 < len(k) && k[i+1].from <= size && (key.retired == 0 || key.retired > size) {
			also = append(also, key)
		}
	}
	return also
}

// last returns the key that signs what comes next.
func (k LogKeys) last() logKey { return k[len(k)-1] }

// origin is the name of the log, which all its keys have.
func (k LogKeys) origin() string { return k[0].Name() }

// extends reports whether they are others, and perhaps more that follow these.
func (k LogKeys) extends(others LogKeys) bool {
	return len(k) >= len(others) && slices.EqualFunc(k[:len(others)], others, func(a, b logKey) bool { return a.vkey == b.vkey && a.from == b.from })
}

// has reports whether a public key is one of them.
func (k LogKeys) has(vkey string) bool {
	return slices.ContainsFunc(k, func(key logKey) bool { return key.vkey == vkey })
}

// verifiers are all of them, for note.Open: which one may sign what is to be compared afterwards.
func (k LogKeys) verifiers(others ...note.Verifier) note.Verifiers {
	for _, key := range k {
		others = append(others, key)
	}
	return note.VerifierList(others...)
}

// signatureBy returns the signature of a key among those of a note that were verified; ok is false if there is none.
func signatureBy(key note.Verifier, n *note.Note) (s note.Signature, ok bool) {
	i := slices.IndexFunc(n.Sigs, func(s note.Signature) bool { return s.Name == key.Name() && s.Hash == key.KeyHash() })
	if i < 0 {
		return s, false
	}
	return n.Sigs[i], true
}

// signed returns nil if the key at a position is among those that signed a note.
func (k LogKeys) signed(n *note.Note, position int64) error {
	key := k.at(position)
	if _, ok := signatureBy(key, n); ok {
		return nil
	}
	return fmt.Errorf("it is signed by another key than %s, which the log has from position %d on", short(key.vkey), key.from)
}
