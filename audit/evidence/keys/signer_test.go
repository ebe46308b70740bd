package keys_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence/keys"
	"waymark/tests/services"
)

// TestAgent: a real ssh-agent signs notes; without it, or without its key, nothing is signed.
func TestAgent(t *testing.T) {
	services.Program(t, "ssh-keygen", "openssh-client")
	folder := t.TempDir()
	fingerprint := ed25519Key(t, filepath.Join(folder, "id"))
	socket := services.SSHAgent(t)
	adopt := func() (keys.Key, error) {
		return keys.Adopt(folder, keys.Log, "waymark.example/prod", "agent:"+fingerprint, "")
	}
	t.Setenv("SSH_AUTH_SOCK", "")
	_, err := adopt()
	require.ErrorContains(t, err, "agent:"+fingerprint+": no ssh-agent: SSH_AUTH_SOCK is not set")
	t.Setenv("SSH_AUTH_SOCK", socket)
	_, err = adopt()
	require.ErrorContains(t, err, "the ssh-agent does not have this key")
	said(t, "ssh-add", "-q", filepath.Join(folder, "id"))
	made, err := adopt()
	require.NoError(t, err)
	_, err = adopt()
	require.ErrorIs(t, err, fs.ErrExist)

	loaded, err := keys.Load(folder, keys.Log)
	require.NoError(t, err)
	require.Equal(t, []string{made.VKey, "agent:" + fingerprint}, []string{loaded.VKey, loaded.From})
	requireSigns(t, loaded)
	said(t, "ssh-add", "-q", "-D")
	_, err = note.Sign(&note.Note{Text: "x\n"}, loaded)
	require.ErrorContains(t, err, "the key waymark.example/prod: agent:"+fingerprint+": the ssh-agent does not have this key: ssh-add it")

	said(t, "ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", filepath.Join(folder, "other"))
	said(t, "ssh-add", "-q", filepath.Join(folder, "other"))
	other := strings.Fields(said(t, "ssh-keygen", "-l", "-f", filepath.Join(folder, "other")))[1]
	_, err = keys.Adopt(t.TempDir(), keys.Log, "waymark.example/prod", "agent:"+other, "")
	require.ErrorContains(t, err, "of type ecdsa-sha2-nistp256, and only ssh-ed25519 signs here")
}

// TestProgram: a program signs notes. What it writes is verified.
func TestProgram(t *testing.T) {
	services.Program(t, "openssl", "openssl")
	folder := t.TempDir()
	secret, public, program := filepath.Join(folder, "secret.pem"), filepath.Join(folder, "public.pem"), filepath.Join(folder, "sign")
	said(t, "openssl", "genpkey", "-algorithm", "ed25519", "-out", secret)
	said(t, "openssl", "pkey", "-in", secret, "-pubout", "-out", public)
	write := func(script string) {
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	const sign = `cat >"$0.in" && openssl pkeyutl -sign -rawin -in "$0.in" -inkey `
	write(sign + secret)
	_, err := keys.Adopt(folder, keys.Log, "waymark.example/prod", "exec:"+program, public)
	require.NoError(t, err)
	key, err := keys.Load(folder, keys.Log)
	require.NoError(t, err)
	requireSigns(t, key)

	said(t, "openssl", "genpkey", "-algorithm", "ed25519", "-out", filepath.Join(folder, "other.pem"))
	for script, wrong := range map[string]string{
		"echo sealed >&2; exit 3": "exit status 3: sealed",
		"exit 3":                  "exit status 3: it says nothing",
		"echo ok":                 "it wrote 3 bytes instead of the 64 of a signature",
		"head -c 64 /dev/zero":    "this is not a signature of the public key",
		sign + filepath.Join(folder, "other.pem"): "this is not a signature of the public key",
	} {
		write(script)
		_, err := note.Sign(&note.Note{Text: "x\n"}, key)
		require.ErrorContains(t, err, "the key waymark.example/prod: exec:"+program+": "+wrong)
	}
}

// TestNoSigner: what cannot sign makes no key.
func TestNoSigner(t *testing.T) {
	folder := t.TempDir()
	no := filepath.Join(folder, "no.pem")
	require.NoError(t, os.WriteFile(no, []byte("no"), 0o600))
	for _, c := range []struct{ from, public, wrong string }{
		{"vault:x", "", `"vault:x" is no signer: write agent:SHA256:…`},
		{"agent:", "", `"agent:" is no signer`},
		{"exec:sign", no, "write the absolute path of the program"},
		{"exec:/sign", no, no + " is no Ed25519 public key in PEM"},
		{"exec:/sign", no + "t", "the public key of the program: open " + no + "t"},
	} {
		_, err := keys.Adopt(folder, keys.Log, "waymark.example/prod", c.from, c.public)
		require.ErrorContains(t, err, c.wrong)
	}
	_, err := keys.Load(folder, keys.Log)
	require.ErrorIs(t, err, keys.ErrNone)
	for _, text := range []string{"a b", "a+00000000+AQ== agent:SHA256:x", "PRIVATE+KEY x"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "log.key"), []byte(text), 0o600))
		_, err := keys.Load(folder, keys.Log)
		require.ErrorContains(t, err, "is no key as `waymark keys generate` makes it")
	}
}

func requireSigns(t *testing.T, key keys.Key) {
	t.Helper()
	verifier, err := note.NewVerifier(key.VKey)
	require.NoError(t, err)
	signed, err := note.Sign(&note.Note{Text: "x\n"}, key)
	require.NoError(t, err)
	_, err = note.Open(signed, note.VerifierList(verifier))
	require.NoError(t, err)
}

// ed25519Key makes an SSH key, and returns its fingerprint.
func ed25519Key(t *testing.T, file string) string {
	t.Helper()
	said(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file)
	return strings.Fields(said(t, "ssh-keygen", "-l", "-f", file))[1]
}

func said(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}
