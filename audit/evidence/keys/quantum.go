package keys

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"waymark/audit/evidence/cosign"
)

// privateMark is before the name in the text of a private key.
const privateMark = "PRIVATE+KEY+"

// quantumByte is before the seed of a key of ML-DSA-44, as the C2SP numbers types of signatures.
const quantumByte = 6

// generatedQuantum makes a private key of ML-DSA-44 in the form that keys of other types have: PRIVATE+KEY+name+hash+base64.
func generatedQuantum(name string) (secret string, err error) {
	var seed [cosign.QuantumSeedBytes]byte
	rand.Read(seed[:]) // never fails
	by, _, err := cosign.NewQuantumSigner(name, seed[:])
	if err != nil {
		return "", err
	}
	return quantumText(name, by.KeyHash(), seed[:]), nil
}

func quantumText(name string, hash uint32, seed []byte) string {
	return fmt.Sprintf("%s%s+%08x+%s", privateMark, name, hash, base64.StdEncoding.EncodeToString(append([]byte{quantumByte}, seed...)))
}

// parseQuantum reads the text that generatedQuantum writes.
func parseQuantum(path, secret string) (Key, error) {
	parts := strings.SplitN(strings.TrimPrefix(secret, privateMark), "+", 3) // base64 may have a + too
	seed, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if len(parts) != 3 || err != nil || len(seed) != 1+cosign.QuantumSeedBytes {
		return Key{}, notAKey(path)
	}
	by, vkey, err := cosign.NewQuantumSigner(parts[0], seed[1:])
	if err != nil || quantumText(parts[0], by.KeyHash(), seed[1:]) != secret {
		return Key{}, notAKey(path)
	}
	return Key{Signer: by, Kind: Quantum, Place: path, VKey: vkey}, nil
}
