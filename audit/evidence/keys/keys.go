// Package keys keeps the keys that sign a landscape's log, and the one with which a witness cosigns the logs of others: files in a folder, each for its owner
// alone. A file has a private key in the form of golang.org/x/mod/sumdb/note, or the public key and who signs with the private one: an ssh-agent, or a program.
package keys

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"waymark/audit/evidence/cosign"
)

// Kind is what a key signs. Stored; never rename one.
type Kind string

// The kinds.
const (
	Log     Kind = "log"     // heads of the log, and which keys may sign entries
	Quantum Kind = "log-pq"  // heads of the log as well, with ML-DSA-44
	Sealer  Kind = "sealer"  // entries about runs
	Witness Kind = "witness" // cosignatures under heads of other logs
)

// ErrNone says that there is no key of a kind in a folder.
var ErrNone = errors.New("no such key")

// UnusableError is about a key that is there, and cannot be used.
type UnusableError struct{ error }

// Unwrap returns what is wrong.
func (e *UnusableError) Unwrap() error { return e.error }

// Key is a private key. Its Signer signs notes; that of a witness cosigns them.
type Key struct {
	note.Signer
	Kind  Kind
	Place string // its file
	From  string // who has the private key: agent:FINGERPRINT, exec:PROGRAM; empty if the file has it
	VKey  string // the public key, as name+hash+base64
}

// String names the key without its secret.
func (k Key) String() string { return k.VKey }

// maxName is how long the name of a key may be: an entry has to stay short.
const maxName = 56

var names = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(/[A-Za-z0-9._-]+)*$`)

// CheckName says what is wrong with the name of a key; nil if nothing is.
func CheckName(name string) error {
	if len(name) > maxName || !names.MatchString(name) {
		return fmt.Errorf("%.120q names no key: write at most %d letters, digits, dots and dashes, a host first, such as waymark.example/prod", name, maxName)
	}
	return nil
}

// Generate makes a key of this name and kind in the folder, which it makes if need be. The error wraps fs.ErrExist if the folder has one of the
// kind. Of two processes that make one, the first wins.
func Generate(folder string, kind Kind, name string) (Key, error) {
	secret, err := generated(kind, name)
	if err != nil {
		return Key{}, err
	}
	return place(file(folder, kind), kind, secret)
}

// generated makes a private key of this name.
func generated(kind Kind, name string) (secret string, err error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	if kind == Quantum {
		return generatedQuantum(name)
	}
	secret, _, err = note.GenerateKey(rand.Reader, name)
	return secret, err
}

// place makes the file of a key, and its folder if need be.
func place(path string, kind Kind, text string) (Key, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Key{}, fmt.Errorf("keys: %w", err)
	}
	err := write(path, text)
	switch {
	case errors.Is(err, fs.ErrExist):
		return Key{}, fmt.Errorf("%s: %w, and no key is replaced; --keys names another folder", path, fs.ErrExist)
	case err != nil:
		return Key{}, fmt.Errorf("keys: %w", err)
	}
	return usable(load(path, kind))
}

// write makes the file of a key, whole or not at all.
func write(path, text string) (err error) {
	folder := filepath.Dir(path)
	made, err := os.CreateTemp(folder, ".key-*") // for its owner alone
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(made.Name())) }()
	_, err = fmt.Fprintln(made, text)
	if err := errors.Join(err, made.Sync(), made.Close()); err != nil {
		return err
	}
	if err := os.Link(made.Name(), path); err != nil {
		return err
	}
	return SyncFolder(folder)
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(folder string) error {
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Replace makes a file durable under its name, whole or not at all. After an error either the old or the new one is there.
func Replace(path, text string) error {
	made, err := os.CreateTemp(filepath.Dir(path), ".new-*") // for its owner alone
	if err != nil {
		return err
	}
	_, err = made.WriteString(text)
	if err := errors.Join(err, made.Sync(), made.Close()); err != nil {
		return errors.Join(err, os.Remove(made.Name()))
	}
	if err := os.Rename(made.Name(), path); err != nil {
		return errors.Join(err, os.Remove(made.Name()))
	}
	return SyncFolder(filepath.Dir(path))
}

// file returns the path of a key.
func file(folder string, kind Kind) string { return filepath.Join(folder, string(kind)+".key") }

// Load reads the folder's key of a kind. The error wraps ErrNone if there is none, and is an *UnusableError otherwise: a key that others than its owner
// may read is refused. Errors repeat nothing of it.
func Load(folder string, kind Kind) (Key, error) {
	return usable(load(file(folder, kind), kind))
}

// usable makes an *UnusableError of an error, unless it wraps ErrNone.
func usable(key Key, err error) (Key, error) {
	if err != nil && !errors.Is(err, ErrNone) {
		err = &UnusableError{err}
	}
	return key, err
}

func load(path string, kind Kind) (Key, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Key{}, fmt.Errorf("%s: %w", path, ErrNone)
	case err != nil:
		return Key{}, fmt.Errorf("keys: %w", err)
	case info.Mode().Perm()&0o077 != 0:
		return Key{}, fmt.Errorf("%s: others than its owner may read or change this key (mode %04o): it counts as stolen unless you know better; chmod 600 %s", path, info.Mode().Perm(), path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Key{}, fmt.Errorf("keys: %w", err)
	}
	key := strings.TrimSpace(string(text))
	switch {
	case kind == Quantum:
		return parseQuantum(path, key)
	case strings.Contains(key, " "):
		return referTo(path, kind, key)
	}
	return parse(path, kind, key)
}

func notAKey(path string) error {
	return fmt.Errorf("%s is no key as `waymark keys generate` makes it: restore it; the log cannot be continued with another one", path)
}

// parse reads PRIVATE+KEY+name+hash+base64.
func parse(path string, kind Kind, secret string) (Key, error) {
	signer, err := note.NewSigner(secret)
	if err != nil {
		return Key{}, notAKey(path)
	}
	parts := strings.SplitN(secret, "+", 5) // base64 may have a + too
	seed, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return Key{}, notAKey(path)
	}
	private := ed25519.NewKeyFromSeed(seed[1:])
	public, _ := private.Public().(ed25519.PublicKey)
	if kind == Witness {
		return Key{Signer: cosign.NewSigner(signer.Name(), private), Kind: kind, Place: path, VKey: cosign.VKey(signer.Name(), public)}, nil
	}
	vkey, err := note.NewEd25519VerifierKey(signer.Name(), public)
	if err != nil {
		return Key{}, notAKey(path)
	}
	return Key{Signer: signer, Kind: kind, Place: path, VKey: vkey}, nil
}

// LoadOrGenerate returns the folder's key of a kind, and makes one of this name if it has none.
func LoadOrGenerate(folder string, kind Kind, name string) (Key, error) {
	key, err := Load(folder, kind)
	if !errors.Is(err, ErrNone) {
		return key, err
	}
	key, err = Generate(folder, kind, name)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return Load(folder, kind)
	}
	return key, err
}
