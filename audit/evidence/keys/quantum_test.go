package keys_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence/cosign"
	"waymark/audit/evidence/keys"
)

// TestQuantumKey: its file has the form of the others, and only that.
func TestQuantumKey(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "keys")
	_, err := keys.Load(folder, keys.Quantum)
	require.ErrorIs(t, err, keys.ErrNone)
	made, err := keys.Generate(folder, keys.Quantum, "waymark.example/prod")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(folder, "log-pq.key"), made.Place)
	_, err = keys.Generate(folder, keys.Quantum, "waymark.example/prod")
	require.ErrorIs(t, err, fs.ErrExist)
	loaded, err := keys.Load(folder, keys.Quantum)
	require.NoError(t, err)
	require.Equal(t, made.VKey, loaded.VKey)
	verifier, err := cosign.NewQuantum(made.VKey)
	require.NoError(t, err)
	require.Equal(t, []any{verifier.Name(), verifier.KeyHash()}, []any{loaded.Name(), loaded.KeyHash()})

	const text = "waymark.example/prod\n5\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	signed, err := note.Sign(&note.Note{Text: text}, loaded)
	require.NoError(t, err)
	_, err = note.Open(signed, note.VerifierList(verifier))
	require.NoError(t, err)

	secret, err := os.ReadFile(made.Place)
	require.NoError(t, err)
	key := strings.TrimSpace(string(secret))
	ed25519, err := keys.Generate(t.TempDir(), keys.Log, "waymark.example/prod")
	require.NoError(t, err)
	other, err := os.ReadFile(ed25519.Place)
	require.NoError(t, err)
	for _, wrong := range []string{
		"", "x", key[:len(key)-4], key + "AAAA", strings.Replace(key, "prod", "dev", 1), strings.TrimPrefix(key, "PRIVATE+KEY+"), string(other), made.VKey, made.VKey + " exec:/bin/sign",
	} {
		require.NoError(t, os.WriteFile(made.Place, []byte(wrong), 0o600))
		_, err := keys.Load(folder, keys.Quantum)
		require.ErrorContains(t, err, made.Place+" is no key as", wrong)
		require.NotContains(t, err.Error(), key[len(key)-20:])
	}
}
