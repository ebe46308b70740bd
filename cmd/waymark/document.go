package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"waymark/client"
	"waymark/client/local"
	"waymark/pipeline"
	"waymark/worker"
	"waymark/worker/daemon"
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
		Reserved: a.folder().Reserved(a.storage(false)), Credentials: credentials,
	}, nil
}

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
	return own(a.folder())
}

// keySource returns the key by which a state folder's records tell that a secret changed.
type keySource func(local.Folder) ([]byte, error)

// shown returns the path as it is shown: from the working folder, if it is below that.
func shown(path string) string {
	if folder, err := os.Getwd(); err == nil {
		if below, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(below) {
			return below
		}
	}
	return path
}
