package persons_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"waymark/landscape"
	"waymark/landscape/persons"
	"waymark/tests/services"
)

// noon is a time in October.
var noon = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// softKey is a key in memory.
func softKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	key, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return key
}

// word is the key as files have it.
func word(key ssh.PublicKey) string { return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) }

// TestApprovers: what a line may say, and what is refused, with the line.
func TestApprovers(t *testing.T) {
	ann, bob := word(softKey(t).PublicKey()), word(softKey(t).PublicKey())
	rsa := "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDH"
	for text, wrong := range map[string]string{
		"# nobody\n\n":                      "",
		"ann@example.com " + ann + " Ann\n": "",
		"ann,ann@example.com " + ann:        "",
		"ann " + ann + "\nann " + bob:       "",
		"ann " + ann + "\nann2 " + ann: "line 2: ann2 has the key of ann: " +
			"each person needs a key that nobody else has",
		"ann " + ann + "\nAnn " + bob: "line 2: Ann is a name of ann as well: begin all lines of one person with the " +
			"same name, ann, or give each person names that nobody else has",
		"ann@example.com,ann " + ann + "\nann " + bob:      "ann is a name of ann@example.com as well",
		"ann " + ann + "\nbob,ANN " + bob:                  "line 2: ANN is a name of ann as well",
		"ann@example.com,ann " + ann + "\nbob,bo " + bob:   "",
		"ann,ann2 " + ann + "\nann,ann@example.com " + bob: "",
		"* " + ann:             `line 1: "*" names no person`,
		"ann,!bob " + ann:      `line 1: "!bob" names no person`,
		"\n# x\nann":           `line 3: "ann" is no approver: write PRINCIPAL`,
		"ann " + rsa:           "is not of the type ssh-rsa",
		"ann ssh-ed25519 AAAA": "is not of the type ssh-ed25519",
		"ann " + strings.Replace(ann, " ", " =", 1): "is not base64",
		"ann cert-authority " + ann:                 "is no approver",
		`ann verify-required="x" ` + ann:            `the option "verify-required" is not known`,
		`ann namespaces="*" ` + ann:                 `namespaces="*": write names such as waymark-sign-off, without *`,
		`ann valid-after="20260101" ` + ann:         "is no time: write YYYYMMDDZ",
		`ann valid-before="2026" ` + ann:            "is no time",
		"ann " + ann + "\nbob " + bob + " \x00":     "",
	} {
		_, err := persons.ParseApprovers(text)
		if wrong == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, wrong, text)
	}
	_, err := persons.ParseApprovers(strings.Repeat("#", 1<<20+1))
	require.ErrorContains(t, err, "at most 1048576 are allowed")
}

// TestAllows: for what a key may sign, and when.
func TestAllows(t *testing.T) {
	key := softKey(t).PublicKey()
	for options, wrong := range map[string]string{
		"":                                   "",
		`namespaces="git,waymark-sign-off" `: "",
		`namespaces="git" `:                  "may not sign in the namespace waymark-sign-off, only in git",
		`valid-after="20261001Z" `:           "",
		`valid-after="20261001120001Z" `:     "may not sign before 2026-10-01T12:00:01Z, and this is of 2026-10-01T12:00:00Z",
		`valid-before="202610011200Z" `:      "may not sign from 2026-10-01T12:00:00Z on",
		`valid-before="20261001120001Z" `:    "",
		`valid-after="20250101Z",valid-before="20260101Z" `: "from 2026-01-01T00:00:00Z on",
	} {
		approvers, err := persons.ParseApprovers("ann@example.com " + options + word(key) + " Ann\tExample ")
		require.NoError(t, err)
		a, err := approvers.Of(key, persons.SignOffs, noon)
		if wrong != "" {
			require.ErrorIs(t, err, persons.ErrNotAllowed)
			require.ErrorContains(t, err, wrong)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "Ann Example", a.Name)
	}
	approvers, err := persons.ParseApprovers("ann " + `valid-before="20260101Z" ` + word(key) + "\nann " + `valid-after="20260601Z" ` + word(key))
	require.NoError(t, err)
	_, err = approvers.Of(key, persons.SignOffs, noon)
	require.NoError(t, err, "the second line of a key that was renewed")
	_, err = approvers.Of(softKey(t).PublicKey(), persons.SignOffs, noon)
	require.ErrorContains(t, err, "it is of none of the approvers")
}

// TestSSHKeygen: ssh-keygen verifies what Waymark signs with its keys, in files and in an ssh-agent, and Waymark what ssh-keygen signs but for the form.
func TestSSHKeygen(t *testing.T) {
	services.Program(t, "ssh-keygen", "openssh-client")
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	said(t, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at("plain"))
	said(t, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", at("locked"))
	said(t, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at("agent"))
	said(t, "", "ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", at("ecdsa"))
	t.Setenv("SSH_AUTH_SOCK", services.SSHAgent(t))
	said(t, "", "ssh-add", "-q", at("agent"))
	require.NoError(t, os.Remove(at("agent")))
	ask := func(what string) ([]byte, error) {
		require.Equal(t, "passphrase of "+at("locked"), what)
		return []byte("secret"), nil
	}
	const message = "{\"run\":\"one\"}\n"
	for _, name := range []string{"plain", "locked", "agent.pub"} {
		key, err := persons.OpenKey(at(name), ask)
		require.NoError(t, err, name)
		signature, err := persons.Sign(key, persons.SignOffs, message)
		require.NoError(t, err, name)
		require.NoError(t, os.WriteFile(at("sig"), []byte(signature), 0o600))
		require.NoError(t, os.WriteFile(at("signers"), []byte(`ann@example.com namespaces="waymark-sign-off" `+word(key.PublicKey())+" Ann\n"), 0o600))
		said(t, message, "ssh-keygen", "-Y", "verify", "-f", at("signers"), "-I", "ann@example.com", "-n", persons.SignOffs, "-s", at("sig"))
		by, err := persons.Verify(signature, persons.SignOffs, message)
		require.NoError(t, err)
		approvers, err := persons.ReadApprovers(at("signers"))
		require.NoError(t, err)
		_, err = approvers.Of(by, persons.SignOffs, noon)
		require.NoError(t, err)
	}
	for file, wrong := range map[string]string{
		"none": "the key: open ", "plain-open": "others than its owner may read or change this key: chmod 600", "signers": "give a private key, or the .pub file",
	} {
		if file == "plain-open" {
			require.NoError(t, os.Chmod(at("plain"), 0o644))
			file = "plain"
		}
		_, err := persons.OpenKey(at(file), ask)
		require.ErrorContains(t, err, wrong)
	}
	_, err := persons.OpenKey(at("locked"), func(string) ([]byte, error) { return nil, io.ErrUnexpectedEOF })
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = persons.OpenKey(at("locked"), func(string) ([]byte, error) { return []byte("wrong"), nil })
	require.ErrorContains(t, err, at("locked"))
	key, err := persons.OpenKey(at("ecdsa"), ask)
	require.NoError(t, err)
	_, err = persons.Sign(key, persons.SignOffs, message)
	require.ErrorContains(t, err, "a key of type ecdsa-sha2-nistp256 cannot sign here: make one with ssh-keygen -t ed25519")
	said(t, "", "ssh-add", "-q", "-D")
	key, err = persons.OpenKey(at("agent.pub"), ask)
	require.NoError(t, err)
	_, err = persons.Sign(key, persons.SignOffs, message)
	require.ErrorContains(t, err, "ssh-add -l lists the keys that the ssh-agent has")
}

// TestVerify refuses signatures that differ in anything.
func TestVerify(t *testing.T) {
	key := softKey(t)
	signature, err := persons.Sign(key, persons.SignOffs, "x\n")
	require.NoError(t, err)
	for name, other := range map[string][3]string{
		"another message":   {signature, persons.SignOffs, "y\n"},
		"another namespace": {signature, "git", "x\n"},
		"another form":      {strings.ReplaceAll(signature, "\n", "\r\n"), persons.SignOffs, "x\n"},
		"more behind it":    {signature + "x", persons.SignOffs, "x\n"},
		"none":              {"", persons.SignOffs, "x\n"},
		"a bit":             {flipped(signature), persons.SignOffs, "x\n"},
	} {
		_, err := persons.Verify(other[0], other[1], other[2])
		require.ErrorContains(t, err, "the signature does not hold", name)
	}
}

// flipped changes a bit of the last bytes of a signature.
func flipped(signature string) string {
	at := strings.LastIndex(signature, "\n-----END") - 5
	other := byte('A')
	if signature[at] == other {
		other = 'B'
	}
	return signature[:at] + string(other) + signature[at+1:]
}

// securityKey signs as a security key does, touched or not.
type securityKey struct {
	private ed25519.PrivateKey
	public  ssh.PublicKey
	flags   byte
}

func newSecurityKey(t *testing.T, flags byte) securityKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	key, err := ssh.ParsePublicKey(ssh.Marshal(struct{ Type, Key, Application string }{ssh.KeyAlgoSKED25519, string(public), "ssh:"}))
	require.NoError(t, err)
	return securityKey{private, key, flags}
}

func (k securityKey) PublicKey() ssh.PublicKey { return k.public }

func (k securityKey) Sign(_ io.Reader, data []byte) (*ssh.Signature, error) {
	application, message := sha256.Sum256([]byte("ssh:")), sha256.Sum256(data)
	tail := binary.BigEndian.AppendUint32([]byte{k.flags}, 7)
	signed := ed25519.Sign(k.private, append(append(application[:], tail...), message[:]...))
	return &ssh.Signature{Format: ssh.KeyAlgoSKED25519, Blob: signed, Rest: tail}, nil
}

// TestTouch: a signature of a security key that nobody touched does not hold.
func TestTouch(t *testing.T) {
	_, err := persons.Sign(newSecurityKey(t, 1), persons.SignOffs, "x\n")
	require.NoError(t, err)
	_, err = persons.Sign(newSecurityKey(t, 0), persons.SignOffs, "x\n")
	require.ErrorContains(t, err, "the signature does not hold: ")
	require.ErrorContains(t, err, "presence")
}

// TestSignOffAttacks: whatever of a recorded sign-off is changed, it is named.
func TestSignOffAttacks(t *testing.T) {
	key, other := softKey(t), softKey(t)
	run, seal := landscape.Run{RunHead: landscape.RunHead{ID: "one", Pipeline: "p"}}, landscape.RunSeal{Run: "one", Seq: 1, Root: []byte(strings.Repeat("r", 32))}
	outputs := []landscape.ArtifactRecord{{Sink: "s", Path: "/out", SHA256: "ab"}}
	line := `ann@example.com valid-before="20261101Z" ` + word(key.PublicKey()) + " Ann Example"
	by, err := persons.ParseApprover(line)
	require.NoError(t, err)
	sign := func(change func(*persons.Statement)) landscape.SignOff {
		s, err := persons.NewStatement(run, seal, outputs, "reviewer", " fit for filing ", by, "f00d", noon)
		require.NoError(t, err)
		if change != nil {
			change(&s)
		}
		signature, err := s.Sign(key)
		require.NoError(t, err)
		record, err := s.Record(signature, by)
		require.NoError(t, err)
		return record
	}
	honest := sign(nil)
	v, err := persons.VerifySignOff(honest, []landscape.RunSeal{seal}, outputs)
	require.NoError(t, err)
	require.Equal(t, []string{"fit for filing", "Ann Example"}, []string{v.Meaning, v.Name})
	edited := func(change func(*landscape.SignOff)) landscape.SignOff {
		record := honest
		change(&record)
		return record
	}
	for name, c := range map[string]struct {
		record landscape.SignOff
		wrong  string
	}{
		"the meaning":     {edited(func(s *landscape.SignOff) { s.Statement = strings.Replace(s.Statement, "fit", "unfit", 1) }), "the signature does not hold"},
		"another run":     {edited(func(s *landscape.SignOff) { s.Run = "two" }), "ann@example.com signed off run one, and the signature is recorded of run two"},
		"the role":        {edited(func(s *landscape.SignOff) { s.Role = "owner" }), "signed as reviewer at 2026-10-01T12:00:00.000000Z, and something else is recorded"},
		"the person":      {edited(func(s *landscape.SignOff) { s.Person = "bob" }), "something else is recorded beside that"},
		"the time":        {edited(func(s *landscape.SignOff) { s.At++ }), "something else is recorded beside that"},
		"the root":        {sign(func(s *persons.Statement) { s.Root = "00" }), "signed the root 00 of seal 1, and the run has no such seal"},
		"the outputs":     {sign(func(s *persons.Statement) { s.Artifacts[0].SHA256 = "cd" }), "signed other outputs than are recorded of the run"},
		"the type":        {sign(func(s *persons.Statement) { s.Type = "order" }), "not a statement that signs off a run"},
		"the version":     {sign(func(s *persons.Statement) { s.V = 2 }), "not a statement that signs off a run"},
		"the line":        {edited(func(s *landscape.SignOff) { s.Approver = "bob " + word(other.PublicKey()) }), "the line of the approver has another key or name"},
		"the name":        {edited(func(s *landscape.SignOff) { s.Approver += "e" }), "the line of the approver has another key or name"},
		"no line":         {edited(func(s *landscape.SignOff) { s.Approver = "" }), "the line of the approver: "},
		"the key expired": {sign(func(s *persons.Statement) { s.At = "2026-11-01T00:00:00.000000Z" }), "may not sign from 2026-11-01T00:00:00Z on"},
	} {
		_, err := persons.VerifySignOff(c.record, []landscape.RunSeal{seal}, outputs)
		require.ErrorContains(t, err, c.wrong, name)
		require.Contains(t, persons.Look(c.record, []landscape.RunSeal{seal}, outputs, nil).String(), "DOES NOT COUNT: ", name)
	}
	for text, c := range map[string]struct {
		changed bool
		wrong   string
	}{
		line + "\n":                     {true, ""},
		"":                              {true, "it is of none of the approvers"},
		"ann2 " + word(key.PublicKey()): {true, "the key of ann2 may not sign for ann@example.com"},
		`ann@example.com valid-before="20260901Z" ` + word(key.PublicKey()): {true, "may not sign from 2026-09-01T00:00:00Z on"},
	} {
		approvers, err := persons.ParseApprovers(text)
		require.NoError(t, err)
		changed, err := v.AllowedBy(approvers)
		require.Equal(t, c.changed, changed)
		if c.wrong == "" {
			require.NoError(t, err)
			require.Contains(t, persons.Look(honest, []landscape.RunSeal{seal}, outputs, approvers).Note, "the approvers file was another one when ann@example.com signed")
			continue
		}
		require.ErrorIs(t, err, persons.ErrNotAllowed)
		require.ErrorContains(t, err, c.wrong)
		require.Contains(t, persons.Look(honest, []landscape.RunSeal{seal}, outputs, approvers).Problem, c.wrong)
	}
}

// TestNewStatement refuses roles and meanings that cannot be printed.
func TestNewStatement(t *testing.T) {
	for _, c := range [][2]string{{"", "x"}, {"A b", "x"}, {strings.Repeat("a", 41), "x"}, {"a", " "}, {"a", "x\ny"}, {"a", strings.Repeat("x", 1001)}} {
		_, err := persons.NewStatement(landscape.Run{}, landscape.RunSeal{}, nil, c[0], c[1], persons.Approver{}, "", noon)
		require.True(t, errors.Is(err, persons.ErrUnusable), c)
	}
	for meaning, wrong := range map[string]string{
		"fit\u202etif":       "a meaning with the character U+202E at byte 4 cannot be signed: readers do not see it",
		"f\u200bit":          "the character U+200B at byte 2",
		"fit\tfor":           "the character U+0009 at byte 4",
		"f\u2028it":          "the character U+2028",
		"fit \xff":           "the character U+FFFD",
		"می\u200cخواهم, é 👍": "",
	} {
		_, err := persons.NewStatement(landscape.Run{}, landscape.RunSeal{}, nil, "a", meaning, persons.Approver{}, "", noon)
		if wrong == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, persons.ErrUnusable, "%q", meaning)
		require.ErrorContains(t, err, wrong)
	}
}

func said(t *testing.T, input, program string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
