package cosign

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"filippo.io/mldsa"
	"golang.org/x/mod/sumdb/note"
)

// quantumAlgorithm is the byte before a public key of ML-DSA-44 in its text.
const quantumAlgorithm = 6

// QuantumSeedBytes is how long the seed of a private key of ML-DSA-44 is.
const QuantumSeedBytes = mldsa.PrivateKeySize

// quantumLabel is what the signed message begins with.
const quantumLabel = "subtree/v1\n\x00"

// Quantum verifies the signatures of checkpoints by one key of ML-DSA-44, which computers of tomorrow should not be able to forge
// (https://c2sp.org/tlog-cosignature, the type with ML-DSA-44).
type Quantum struct {
	name   string
	hash   uint32
	public *mldsa.PublicKey
}

// quantumSigner signs with the time of the signature.
type quantumSigner struct {
	*Quantum
	key *mldsa.PrivateKey
}

// NewQuantumSigner returns a signer of checkpoints with the key of ML-DSA-44 that a seed gives, and its public key as name+hash+base64.
func NewQuantumSigner(name string, seed []byte) (by note.Signer, vkey string, err error) {
	key, err := mldsa.NewPrivateKey(mldsa.MLDSA44(), seed)
	if err != nil {
		return nil, "", err
	}
	public := key.PublicKey()
	return quantumSigner{newQuantum(name, public), key}, vkeyOf(name, quantumAlgorithm, public.Bytes()), nil
}

func newQuantum(name string, public *mldsa.PublicKey) *Quantum {
	return &Quantum{name, keyHash(name, quantumAlgorithm, public.Bytes()), public}
}

// errQuantumKey says that a text is not a key of ML-DSA-44.
var errQuantumKey = errors.New("it is not a public key of ML-DSA-44: write name+hash+base64, as waymark keys generate --pq prints it")

// NewQuantum reads a public key, as name+hash+base64.
func NewQuantum(vkey string) (*Quantum, error) {
	name, encoded, ok := parseKey(vkey, quantumAlgorithm)
	if !ok {
		return nil, errQuantumKey
	}
	public, err := mldsa.NewPublicKey(mldsa.MLDSA44(), encoded)
	if err != nil {
		return nil, errQuantumKey
	}
	return newQuantum(name, public), nil
}

// Sign does what note.Signer says: the signature begins with the time. The note must be a checkpoint.
func (s quantumSigner) Sign(text []byte) ([]byte, error) {
	now := uint64(time.Now().Unix()) //nolint:gosec // after 1970
	message, err := s.message(now, text)
	if err != nil {
		return nil, err
	}
	signature, err := s.key.Sign(nil, message, nil)
	return append(binary.BigEndian.AppendUint64(nil, now), signature...), err
}

// Name does what note.Verifier says.
func (q *Quantum) Name() string { return q.name }

// KeyHash does what note.Verifier says.
func (q *Quantum) KeyHash() uint32 { return q.hash }

// Verify does what note.Verifier says.
func (q *Quantum) Verify(text, signature []byte) bool {
	if len(signature) != timeBytes+mldsa.MLDSA44SignatureSize {
		return false
	}
	at := binary.BigEndian.Uint64(signature)
	message, err := q.message(at, text)
	return err == nil && at <= lastTime && mldsa.Verify(q.public, message, signature[timeBytes:], nil) == nil
}

// message is what is signed of a checkpoint: its origin, size and root, the time, and the name of the key. Lines after these are not signed, so there may be none.
func (q *Quantum) message(at uint64, text []byte) ([]byte, error) {
	lines := strings.Split(string(text), "\n")
	if len(lines) != 4 || lines[3] != "" || lines[0] == "" || max(len(lines[0]), len(q.name)) > 255 {
		return nil, errors.New("it is not a checkpoint of three lines")
	}
	size, err := ParseSize(lines[1])
	if err != nil {
		return nil, err
	}
	const rootBytes = 32
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != rootBytes {
		return nil, fmt.Errorf("%.60q is not a root", lines[2])
	}
	message := append([]byte(quantumLabel), byte(len(q.name)))
	message = binary.BigEndian.AppendUint64(append(message, q.name...), at)
	message = append(append(message, byte(len(lines[0]))), lines[0]...)
	message = binary.BigEndian.AppendUint64(message, 0)            // the first entry of the tree
	message = binary.BigEndian.AppendUint64(message, uint64(size)) //nolint:gosec // ParseSize gives none below 0
	return append(message, root...), nil
}
