package persons

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"waymark/internal/sshagent"
)

// touchPatience is how long an ssh-agent may take: a person must touch a security key, or confirm.
const touchPatience = 2 * time.Minute

// OpenKey returns the SSH key of a person: a private key in the form of OpenSSH, or a public one, whose private key the ssh-agent has. ask is called for the
// passphrase of a private key that has one.
func OpenKey(file string, ask func(what string) ([]byte, error)) (ssh.Signer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the key: %w", err)
	}
	if public, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		return agentKey{public, file}, nil
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the key: %w", err)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s: others than its owner may read or change this key: chmod 600 %s", file, file)
	}
	key, err := ssh.ParsePrivateKey(text)
	if _, locked := errors.AsType[*ssh.PassphraseMissingError](err); locked {
		key, err = unlock(file, text, ask)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; give a private key, or the .pub file of a key that the ssh-agent has, such as that of a security key", file, err)
	}
	return key, nil
}

func unlock(file string, text []byte, ask func(string) ([]byte, error)) (ssh.Signer, error) {
	passphrase, err := ask("passphrase of " + file)
	if err != nil {
		return nil, err
	}
	return ssh.ParsePrivateKeyWithPassphrase(text, passphrase)
}

// agentKey is a key that the ssh-agent has.
type agentKey struct {
	public ssh.PublicKey
	file   string
}

// PublicKey does what ssh.Signer says.
func (k agentKey) PublicKey() ssh.PublicKey { return k.public }

// Sign does what ssh.Signer says.
func (k agentKey) Sign(_ io.Reader, data []byte) (signature *ssh.Signature, err error) {
	err = sshagent.With(touchPatience, func(a agent.Agent) error {
		signature, err = a.Sign(k.public, data)
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w; ssh-add -l lists the keys that the ssh-agent has", k.file, err)
	}
	return signature, err
}
