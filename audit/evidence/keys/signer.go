package keys

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/mod/sumdb/note"

	"waymark/internal/sshagent"
)

// Schemes of signers.
const (
	agentScheme   = "agent:"
	programScheme = "exec:"
)

// signerPatience is how long a signer may take for one signature.
const signerPatience = 10 * time.Second

// external signs with a private key that this process cannot read.
type external struct {
	note.Verifier
	from string // agent:FINGERPRINT or exec:PROGRAM
}

// Sign does what note.Signer says. What the signer returns is verified, so that another key signs nothing.
func (e external) Sign(message []byte) ([]byte, error) {
	signature, err := e.ask(message)
	if err == nil && !e.Verify(message, signature) {
		err = errors.New("this is not a signature of the public key")
	}
	if err != nil {
		return nil, fmt.Errorf("the key %s: %s: %w", e.Name(), e.from, err)
	}
	return signature, nil
}

func (e external) ask(message []byte) ([]byte, error) {
	if program, ok := strings.CutPrefix(e.from, programScheme); ok {
		return runSigner(program, message)
	}
	return askAgent(strings.TrimPrefix(e.from, agentScheme), message)
}

// runSigner gives the message to a program on its standard input; the program writes the 64 bytes of the signature.
func runSigner(program string, message []byte) ([]byte, error) {
	ctx, done := context.WithTimeout(context.Background(), signerPatience)
	defer done()
	var said bytes.Buffer
	command := exec.CommandContext(ctx, program)
	command.Stdin, command.Stderr, command.WaitDelay = bytes.NewReader(message), &said, time.Second
	signature, err := command.Output()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("it did not answer within %s", signerPatience)
	case err != nil:
		return nil, fmt.Errorf("%w: %.300s", err, cmp.Or(strings.TrimSpace(said.String()), "it says nothing"))
	case len(signature) != ed25519.SignatureSize:
		return nil, fmt.Errorf("it wrote %d bytes instead of the %d of a signature", len(signature), ed25519.SignatureSize)
	}
	return signature, nil
}

// askAgent lets the ssh-agent of $SSH_AUTH_SOCK sign.
func askAgent(fingerprint string, message []byte) (signature []byte, err error) {
	err = sshagent.With(signerPatience, func(a agent.Agent) error {
		key, err := agentKey(a, fingerprint)
		if err != nil {
			return err
		}
		signed, err := a.Sign(key, message)
		if err == nil {
			signature = signed.Blob
		}
		return err
	})
	return signature, err
}

// agentKey finds the agent's Ed25519 key with this fingerprint.
func agentKey(a agent.Agent, fingerprint string) (*agent.Key, error) {
	all, err := a.List()
	if err != nil {
		return nil, err
	}
	for _, key := range all {
		if ssh.FingerprintSHA256(key) != fingerprint {
			continue
		}
		if key.Type() != ssh.KeyAlgoED25519 {
			return nil, fmt.Errorf("this key of the ssh-agent is of type %s, and only %s signs here", key.Type(), ssh.KeyAlgoED25519)
		}
		return key, nil
	}
	return nil, errors.New("the ssh-agent does not have this key: ssh-add it (ssh-add -l lists what it has)")
}

// publicKeyOf returns the public key of a signer: the agent says it, for a program the PEM file does.
func publicKeyOf(from, publicFile string) (ed25519.PublicKey, error) {
	program, isProgram := strings.CutPrefix(from, programScheme)
	fingerprint, isAgent := strings.CutPrefix(from, agentScheme)
	switch {
	case isProgram && !filepath.IsAbs(program):
		return nil, fmt.Errorf("%q: write the absolute path of the program, such as exec:/usr/local/bin/sign", from)
	case isProgram:
		return readPublicKey(publicFile)
	case !isAgent || !strings.HasPrefix(fingerprint, "SHA256:"):
		return nil, fmt.Errorf("%q is no signer: write agent:SHA256:…, a fingerprint of `ssh-add -l`, or exec:/path/of/a/program", from)
	}
	return agentPublicKey(fingerprint)
}

func agentPublicKey(fingerprint string) (public ed25519.PublicKey, err error) {
	err = sshagent.With(signerPatience, func(a agent.Agent) error {
		key, err := agentKey(a, fingerprint)
		if err != nil {
			return err
		}
		var wire struct {
			Type string
			Key  []byte
		}
		err = ssh.Unmarshal(key.Blob, &wire)
		public = wire.Key
		return err
	})
	return public, err
}

// readPublicKey reads a file in the form that `openssl pkey -pubout` writes.
func readPublicKey(file string) (ed25519.PublicKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the public key of the program: %w", err)
	}
	if block, _ := pem.Decode(text); block != nil {
		if key, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
			if public, ok := key.(ed25519.PublicKey); ok {
				return public, nil
			}
		}
	}
	return nil, fmt.Errorf("%s is no Ed25519 public key in PEM, as `openssl pkey -pubout` writes it", file)
}

// Adopt makes the folder's key of a kind from one that a signer has, after it signed something for a test. from is agent:FINGERPRINT, of a key of the
// ssh-agent, or exec:PROGRAM, whose public key is in a PEM file: it reads a message, and writes the 64 bytes of its Ed25519 signature. The error wraps
// fs.ErrExist if the folder has a key of the kind.
func Adopt(folder string, kind Kind, name, from, publicFile string) (Key, error) {
	path := file(folder, kind)
	text, err := adopted(path, kind, name, from, publicFile)
	if err != nil {
		return Key{}, err
	}
	return place(path, kind, text)
}

// adopted makes what the file of a key has whose private key a signer has, after that signed something for a test.
func adopted(path string, kind Kind, name, from, publicFile string) (text string, err error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	public, err := publicKeyOf(from, publicFile)
	if err != nil {
		return "", fmt.Errorf("%s: %w", from, err)
	}
	vkey, err := note.NewEd25519VerifierKey(name, public)
	if err != nil {
		return "", err
	}
	text = vkey + " " + from
	key, err := referTo(path, kind, text)
	if err == nil {
		err = key.Test()
	}
	return text, err
}

// Test lets the signer sign something that means nothing, and says why it cannot; nil if it can, or the file has the key.
func (k Key) Test() error {
	if k.From == "" {
		return nil
	}
	_, err := k.Sign([]byte("a test of the signer\n"))
	return err
}

// referTo reads "vkey signer".
func referTo(path string, kind Kind, text string) (Key, error) {
	vkey, from, _ := strings.Cut(text, " ")
	verifier, err := note.NewVerifier(vkey)
	if err != nil || !strings.HasPrefix(from, agentScheme) && !strings.HasPrefix(from, programScheme) {
		return Key{}, notAKey(path)
	}
	return Key{Signer: external{verifier, from}, Kind: kind, Place: path, From: from, VKey: vkey}, nil
}
