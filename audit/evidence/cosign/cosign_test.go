package cosign_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence/cosign"
)

const (
	name = "w.example/witness"
	text = "p.example/log\n5\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
)

func pair(t *testing.T) (note.Signer, *cosign.Verifier, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	verifier, err := cosign.NewVerifier(cosign.VKey(name, public))
	require.NoError(t, err)
	return cosign.NewSigner(name, private), verifier, private
}

// TestNotes: a cosignature is a signature of a note as golang.org/x/mod has them, with a time.
func TestNotes(t *testing.T) {
	signer, verifier, private := pair(t)
	require.Equal(t, signer.KeyHash(), verifier.KeyHash())
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	require.NoError(t, err)
	n, err := note.Open(signed, note.VerifierList(verifier))
	require.NoError(t, err)
	s, at, ok := verifier.By(n)
	require.True(t, ok)
	require.WithinDuration(t, time.Now(), at, time.Minute)
	require.Equal(t, string(signed), text+"\n"+cosign.Line(s))

	plain, err := note.NewEd25519VerifierKey(name, private.Public().(ed25519.PublicKey))
	require.NoError(t, err)
	other, err := note.NewVerifier(plain)
	require.NoError(t, err)
	_, err = note.Open(signed, note.VerifierList(other))
	require.ErrorContains(t, err, "no verifiable signatures", "the same key is another one if it signs without a time")
	_, stranger, _ := pair(t)
	_, _, ok = stranger.By(n)
	require.False(t, ok)
}

// TestChangedCosignatures: no bit of one can be changed, nor its time; and what is signed begins with a line that nothing else begins with.
func TestChangedCosignatures(t *testing.T) {
	signer, verifier, private := pair(t)
	good, err := signer.Sign([]byte(text))
	require.NoError(t, err)
	require.True(t, verifier.Verify([]byte(text), good))
	require.False(t, verifier.Verify([]byte(strings.Replace(text, "5", "6", 1)), good))
	for i := range good {
		changed := append([]byte{}, good...)
		changed[i] ^= 1
		require.False(t, verifier.Verify([]byte(text), changed), i)
	}
	require.False(t, verifier.Verify([]byte(text), good[:71]))
	require.False(t, verifier.Verify([]byte(text), append(good, 0)))

	at := func(time uint64, message string) []byte {
		return append(binary.BigEndian.AppendUint64(nil, time), ed25519.Sign(private, []byte(message))...)
	}
	require.True(t, verifier.Verify([]byte(text), at(1679315147, "cosignature/v1\ntime 1679315147\n"+text)), "as the page of the C2SP has it")
	require.False(t, verifier.Verify([]byte(text), at(1679315147, text)))
	require.True(t, verifier.Verify([]byte(text), at(253402300799, "cosignature/v1\ntime 253402300799\n"+text)))
	require.False(t, verifier.Verify([]byte(text), at(253402300800, "cosignature/v1\ntime 253402300800\n"+text)), "no time is that late")
}

func TestKeys(t *testing.T) {
	public, _, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	good := cosign.VKey(name, public)
	log, err := note.NewEd25519VerifierKey(name, public)
	require.NoError(t, err)
	for _, bad := range []string{
		"", "x", "a+b+c", log, strings.Replace(good, name, "other", 1), " " + good, good + "\n", good + "A", strings.Replace(good, "+", "+0", 1),
		name + "+00000000+" + base64.StdEncoding.EncodeToString(append([]byte{4}, public...)),
	} {
		_, err := cosign.NewVerifier(bad)
		require.ErrorContains(t, err, "it is not the public key of a witness", bad)
	}
	for text, want := range map[string]int64{"0": 0, "12": 12, "9223372036854775807": 1<<63 - 1} {
		size, err := cosign.ParseSize(text)
		require.NoError(t, err)
		require.Equal(t, want, size)
	}
	for _, bad := range []string{"", "-1", "+1", "01", "1 ", "9223372036854775808", "x"} {
		_, err := cosign.ParseSize(bad)
		require.Error(t, err, bad)
	}
}
