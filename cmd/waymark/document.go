package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"waymark/client"
	"waymark/pipeline"
	"waymark/worker"
	"waymark/worker/daemon"
	"waymark/worker/storage"
)

// compile reads a document and compiles it. Problems of the document are wrong use, all of them at once.
func (a *app) compile(file string, params []string, key keySource) (*client.Document, error) {
	given, err := parsePairs("--param", "NAME=VALUE", params)
	if err != nil {
		return nil, err
	}
	planner, err := a.planner(key)
	if err != nil {
		return nil, err
	}
	return client.Compile(planner, file, given)
}

// parsePairs reads the words that a flag was given: form, such as NAME=VALUE, says how they are written.
func parsePairs(flag, form string, words []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, wrongUsef("%s %q: write %s", flag, word, form)
		}
		if _, twice := pairs[name]; twice {
			return nil, wrongUsef("%s %s is given twice", flag, name)
		}
		pairs[name] = value
	}
	return pairs, nil
}

// problems returns the problems of a document, if these are what the error is about.
func problems(err error) pipeline.Problems {
	var problems pipeline.Problems
	errors.As(err, &problems)
	return problems
}

// planner returns what compiles documents with this machine's environment and secrets.
func (a *app) planner(key keySource) (worker.Planner, error) {
	fingerprintKey, err := a.fingerprintKey(key)
	if err != nil {
		return worker.Planner{}, fmt.Errorf("key of the fingerprints: %w", err)
	}
	state, err := filepath.Abs(a.state)
	if err != nil {
		return worker.Planner{}, err
	}
	if a.onCluster() {
		state = "" // its workers have no standard input and output
	}
	credentials, err := worker.DocumentCredentials(a.documentProfile, a.env)
	if err != nil {
		return worker.Planner{}, wrongUse(err)
	}
	return worker.Planner{
		Allow: a.allowPaths, SecretsDir: a.secretsDir, FingerprintKey: fingerprintKey, AllowNetworks: a.allowNetworks, Stdio: state,
		Reserved: a.reserved(), Credentials: credentials,
	}, nil
}

// reserved are the places of the record, and of what else is the state folder's own, which is no document's.
func (a *app) reserved() worker.Reserved {
	all := worker.Reserved(a.storage(false).Reserved())
	all.Files = append(all.Files, storage.Database(a.inState("temporal.db"))...)
	all.Files = append(all.Files, a.inState("temporal.db.lock"), a.inState(ownKeyFile), a.inState("stdio"))
	return all
}

// ownKeyFile is the file of the state folder with its fingerprint key.
const ownKeyFile = "fingerprint.key"

// fingerprintKey returns the key that workers share, if one was given, or else that of the state folder.
func (a *app) fingerprintKey(own keySource) ([]byte, error) {
	text, _ := a.env(daemon.FingerprintKeyVariable)
	key, err := worker.FingerprintKey(a.keyFile, text)
	if err != nil {
		return nil, wrongUse(err)
	}
	if key != nil {
		return key, nil
	}
	return own(a.inState(ownKeyFile))
}

// keySource returns the key by which a state folder's records tell that a secret changed.
type keySource func(file string) ([]byte, error)

const keyBytes = worker.KeyBytes

// existingKey reads the key and creates nothing. A folder without one gets a key that is good for this process only.
func existingKey(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return newKey(), nil
	}
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("%s is not %d hex digits; restore it: without it nobody can tell whether a secret changed", file, 2*keyBytes)
	}
	return key, nil
}

// lastingKey reads the key, and makes one if there is none. Of two processes that make one, the first wins.
func lastingKey(file string) (key []byte, err error) {
	if exists(file) {
		return existingKey(file)
	}
	made, err := os.CreateTemp(filepath.Dir(file), ".fingerprint-*")
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
	return existingKey(file)
}

func newKey() []byte {
	key := make([]byte, keyBytes)
	rand.Read(key) // never fails
	return key
}

// shown returns the path as it is shown: from the working folder, if it is below that.
func shown(path string) string {
	if folder, err := os.Getwd(); err == nil {
		if below, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(below) {
			return below
		}
	}
	return path
}
