package persons

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// SignOffs is the namespace of signatures that sign off a run, so that none counts for anything else. Stored; never rename.
const SignOffs = "waymark-sign-off"

// Sign signs a message, as ssh-keygen -Y sign does.
func Sign(key ssh.Signer, namespace, message string) (string, error) {
	if err := usable(key.PublicKey()); err != nil {
		return "", err
	}
	signature, err := sshsig.Sign(strings.NewReader(message), key, sshsig.HashSHA512, namespace)
	if err != nil {
		return "", fmt.Errorf("sign with the key %s: %w", ssh.FingerprintSHA256(key.PublicKey()), err)
	}
	text := string(sshsig.Armor(signature))
	_, err = Verify(text, namespace, message) // an agent may sign with anything
	return text, err
}

// Verify verifies a signature, and returns the key that made it: who has that, approvers say. A security key must have been touched for it. Only the one form
// in which Sign writes a signature is taken.
func Verify(signature, namespace, message string) (ssh.PublicKey, error) {
	s, err := sshsig.Unarmor([]byte(signature))
	if err == nil && string(sshsig.Armor(s)) != signature {
		err = errors.New("it is not written in the one form")
	}
	if err == nil {
		err = usable(s.PublicKey)
	}
	if err == nil && s.PublicKey.Type() == ssh.KeyAlgoED25519 && len(s.Signature.Rest) > 0 {
		err = errors.New("something follows it")
	}
	if err == nil && s.HashAlgorithm != sshsig.HashSHA512 {
		err = fmt.Errorf("its hash is %s, and not %s", s.HashAlgorithm, sshsig.HashSHA512)
	}
	if err == nil {
		err = sshsig.Verify(strings.NewReader(message), s, s.PublicKey, s.HashAlgorithm, namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("the signature does not hold: %w", err)
	}
	return s.PublicKey, nil
}
