package cosign_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence/cosign"
)

func quantum(t *testing.T, name string) (by note.Signer, verifier *cosign.Quantum, vkey string) {
	t.Helper()
	by, vkey, err := cosign.NewQuantumSigner(name, bytes.Repeat([]byte{7}, cosign.QuantumSeedBytes))
	require.NoError(t, err)
	verifier, err = cosign.NewQuantum(vkey)
	require.NoError(t, err)
	require.Equal(t, by.KeyHash(), verifier.KeyHash())
	return by, verifier, vkey
}

// TestQuantumSignsCheckpoints: of other notes there is no signature, because it would not cover all that they say.
func TestQuantumSignsCheckpoints(t *testing.T) {
	by, verifier, _ := quantum(t, name)
	signature, err := by.Sign([]byte(text))
	require.NoError(t, err)
	require.Len(t, signature, 8+2420)
	require.True(t, verifier.Verify([]byte(text), signature))
	for _, other := range []string{
		"", "x\n", text + "an extension\n", text[:len(text)-1], "\n" + strings.SplitN(text, "\n", 2)[1], strings.Replace(text, "\n5\n", "\n05\n", 1),
		strings.Replace(text, "\n5\n", "\n-5\n", 1), strings.Replace(text, "AAAA", "", 1), strings.Replace(text, "AAAA", "!!!!", 1), strings.Repeat("a", 256) + text[strings.Index(text, "\n"):],
	} {
		_, err := by.Sign([]byte(other))
		require.Error(t, err, other)
		require.False(t, verifier.Verify([]byte(other), signature), other)
	}
	for _, other := range []string{strings.Replace(text, "\n5\n", "\n6\n", 1), strings.Replace(text, "p.example", "q.example", 1), strings.Replace(text, "\nA", "\nB", 1)} {
		require.False(t, verifier.Verify([]byte(other), signature), other)
	}
	_, named, _ := quantum(t, "v.example/witness")
	require.False(t, named.Verify([]byte(text), signature), "the name of the key is signed")
	for at := range []int{0, 7, 8, len(signature) - 1} {
		changed := bytes.Clone(signature)
		changed[at] ^= 0x80
		require.False(t, verifier.Verify([]byte(text), changed), at)
	}
	require.False(t, verifier.Verify([]byte(text), signature[:len(signature)-1]))
	require.False(t, verifier.Verify([]byte(text), append(bytes.Clone(signature), 0)))
	_, _, err = cosign.NewQuantumSigner(name, []byte("short"))
	require.Error(t, err)
}

// TestQuantumKeys: a public key is written in one way.
func TestQuantumKeys(t *testing.T) {
	_, _, vkey := quantum(t, name)
	parts := strings.SplitN(vkey, "+", 3)
	key, err := base64.StdEncoding.DecodeString(parts[2])
	require.NoError(t, err)
	require.Len(t, key, 1+1312)
	witness := func(algorithm byte) string {
		key[0] = algorithm
		return parts[0] + "+" + parts[1] + "+" + base64.StdEncoding.EncodeToString(key)
	}
	for _, wrong := range []string{"", "x", vkey[1:], vkey[:len(vkey)-4], vkey + "AAAA", strings.Replace(vkey, "+", "+0", 1), witness(1), witness(4), "a b" + vkey[len(name):]} {
		_, err := cosign.NewQuantum(wrong)
		require.ErrorContains(t, err, "it is not a public key of ML-DSA-44", wrong)
	}
	_, err = cosign.NewVerifier(vkey)
	require.ErrorContains(t, err, "it is not the public key of a witness")
}
