package local

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"waymark/worker"
)

// KeyFile is the name of the file of a state folder with the key by which the records of its runs tell that a secret changed.
const KeyFile = "fingerprint.key"

// Key reads the folder's key and makes nothing. A folder without one gets a key that is good for this process only.
func (f Folder) Key() ([]byte, error) {
	file := f.File(KeyFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return newKey(), nil
	}
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != worker.KeyBytes {
		return nil, fmt.Errorf("%s is not %d hex digits; restore it: without it nobody can tell whether a secret changed", file, 2*worker.KeyBytes)
	}
	return key, nil
}

// LastingKey reads the folder's key, and makes one if there is none. Of two processes that make one, the first wins.
func (f Folder) LastingKey() (key []byte, err error) {
	file := f.File(KeyFile)
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return f.Key()
	}
	made, err := os.CreateTemp(string(f), ".fingerprint-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Remove(made.Name())) }()
	_, err = fmt.Fprintln(made, hex.EncodeToString(newKey()))
	if err := errors.Join(err, made.Sync(), made.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(made.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return f.Key()
}

func newKey() []byte {
	key := make([]byte, worker.KeyBytes)
	rand.Read(key) // never fails
	return key
}
