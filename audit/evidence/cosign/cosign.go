// Package cosign signs and verifies cosignatures: signatures of notes with a time (https://c2sp.org/tlog-cosignature). With Ed25519, a witness says by one that a
// log only grew up to this head; with ML-DSA-44, a log signs its own heads.
package cosign

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// algorithm is the byte before a public key in its text, which says how the key signs.
const algorithm = 4

const (
	hashBytes = 4 // of a key, before each signature
	timeBytes = 8
)

// signer signs with the time of the signature.
type signer struct {
	name string
	hash uint32
	key  ed25519.PrivateKey
}

// NewSigner returns a signer of cosignatures. Its key must sign nothing else: what it signs does not say its name.
func NewSigner(name string, key ed25519.PrivateKey) note.Signer {
	public, _ := key.Public().(ed25519.PublicKey)
	return signer{name, keyHash(name, algorithm, public), key}
}

// Name does what note.Signer says.
func (s signer) Name() string { return s.name }

// KeyHash does what note.Signer says.
func (s signer) KeyHash() uint32 { return s.hash }

// Sign does what note.Signer says: the signature begins with the time.
func (s signer) Sign(text []byte) ([]byte, error) {
	now := uint64(time.Now().Unix()) //nolint:gosec // after 1970
	return append(binary.BigEndian.AppendUint64(nil, now), ed25519.Sign(s.key, message(now, text))...), nil
}

// lastTime is the last second that is printed with four digits of a year. No honest clock says more.
const lastTime = 253_402_300_799

// message is what is signed.
func message(at uint64, text []byte) []byte {
	return fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, text)
}

func keyHash(name string, algorithm byte, public []byte) uint32 {
	sum := sha256.Sum256(append(append([]byte(name), '\n', algorithm), public...))
	return binary.BigEndian.Uint32(sum[:])
}

// VKey returns the text of a public key: name+hash+base64.
func VKey(name string, public ed25519.PublicKey) string { return vkeyOf(name, algorithm, public) }

func vkeyOf(name string, algorithm byte, public []byte) string {
	return fmt.Sprintf("%s+%08x+%s", name, keyHash(name, algorithm, public), base64.StdEncoding.EncodeToString(append([]byte{algorithm}, public...)))
}

// parseKey reads the text that vkeyOf writes.
func parseKey(vkey string, algorithm byte) (name string, public []byte, ok bool) {
	parts := strings.SplitN(vkey, "+", 3) // base64 may have a + too
	if len(parts) != 3 || parts[0] == "" || strings.ContainsFunc(parts[0], func(r rune) bool { return r <= ' ' }) {
		return "", nil, false
	}
	key, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(key) == 0 || key[0] != algorithm || vkeyOf(parts[0], algorithm, key[1:]) != vkey {
		return "", nil, false
	}
	return parts[0], key[1:], true
}

// Verifier verifies the cosignatures of one key.
type Verifier struct {
	name   string
	hash   uint32
	public ed25519.PublicKey
}

// errKey says that a text is not a key of a witness.
var errKey = errors.New("it is not the public key of a witness: write name+hash+base64, as waymark keys generate --witness prints it")

// NewVerifier reads a public key in the form of VKey.
func NewVerifier(vkey string) (*Verifier, error) {
	name, public, ok := parseKey(vkey, algorithm)
	if !ok || len(public) != ed25519.PublicKeySize {
		return nil, errKey
	}
	return &Verifier{name, keyHash(name, algorithm, public), public}, nil
}

// Name does what note.Verifier says.
func (v *Verifier) Name() string { return v.name }

// KeyHash does what note.Verifier says.
func (v *Verifier) KeyHash() uint32 { return v.hash }

// Verify does what note.Verifier says.
func (v *Verifier) Verify(text, signature []byte) bool {
	if len(signature) != timeBytes+ed25519.SignatureSize {
		return false
	}
	at := binary.BigEndian.Uint64(signature)
	return at <= lastTime && ed25519.Verify(v.public, message(at, text), signature[timeBytes:])
}

// By returns the cosignature of this key among the verified signatures of a note, and its time; ok is false if there is none.
func (v *Verifier) By(n *note.Note) (s note.Signature, at time.Time, ok bool) {
	for _, s := range n.Sigs {
		data, err := base64.StdEncoding.DecodeString(s.Base64)
		if s.Name == v.name && s.Hash == v.hash && err == nil {
			seconds := binary.BigEndian.Uint64(data[hashBytes:]) // Verify looked at their number
			return s, time.Unix(int64(seconds), 0).UTC(), true   //nolint:gosec // and at their value
		}
	}
	return s, at, false
}

// Line returns the line of a signature in a note.
func Line(s note.Signature) string { return "\u2014 " + s.Name + " " + s.Base64 + "\n" }

// ParseSize reads a size as the C2SP writes it: decimal, without leading zeros.
func ParseSize(text string) (int64, error) {
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != text {
		return 0, fmt.Errorf("%.40q is not a size", text)
	}
	return size, nil
}
