package keys_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence/keys"
)

func TestLoad(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "keys")
	_, err := keys.Load(folder, keys.Log)
	require.ErrorIs(t, err, keys.ErrNone)
	made, err := keys.Generate(folder, keys.Log, "waymark.example/prod")
	require.NoError(t, err)
	_, err = keys.Generate(folder, keys.Log, "waymark.example/other")
	require.ErrorIs(t, err, fs.ErrExist)
	again, err := keys.LoadOrGenerate(folder, keys.Log, "waymark.example/other")
	require.NoError(t, err)
	require.Equal(t, made.VKey, again.VKey)

	verifier, err := note.NewVerifier(made.VKey)
	require.NoError(t, err)
	signed, err := note.Sign(&note.Note{Text: "x\n"}, again)
	require.NoError(t, err)
	_, err = note.Open(signed, note.VerifierList(verifier))
	require.NoError(t, err)
	secret, err := os.ReadFile(made.Place)
	require.NoError(t, err)
	theirs, err := note.NewSigner(strings.TrimSpace(string(secret)))
	require.NoError(t, err)
	require.Equal(t, made.KeyHash(), theirs.KeyHash())
	require.NotContains(t, made.String(), "PRIVATE")

	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o601} {
		require.NoError(t, os.Chmod(made.Place, mode))
		_, err = keys.Load(folder, keys.Log)
		require.ErrorContains(t, err, "chmod 600 "+made.Place, mode)
	}
	require.NoError(t, os.Chmod(made.Place, 0o600))
	require.NoError(t, os.WriteFile(made.Place, secret[:len(secret)-9], 0o600))
	_, err = keys.Load(folder, keys.Log)
	require.ErrorContains(t, err, made.Place+" is no key")
	require.NotContains(t, err.Error(), strings.TrimSpace(string(secret[20:40])))
}

func TestNames(t *testing.T) {
	for _, name := range []string{"waymark.example/prod", "a", "a-b.c/D_1.x"} {
		require.NoError(t, keys.CheckName(name))
	}
	for _, name := range []string{"", "A/b", "a b", "a+b", "a/", "/a", "a\n", strings.Repeat("a", 57)} {
		_, err := keys.Generate(t.TempDir(), keys.Sealer, name)
		require.ErrorContains(t, err, "names no key", name)
	}
}
