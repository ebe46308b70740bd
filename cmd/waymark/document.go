package main

import (
	"os"
	"path/filepath"
	"strings"

	"waymark/client"
)

// compile reads a document and compiles it. Problems of the document are wrong use, all of them at once.
func (a *app) compile(file string, params []string) (*client.Document, error) {
	given, err := parsePairs("--param", "NAME=VALUE", params)
	if err != nil {
		return nil, err
	}
	planner, err := a.options().Planner(client.ToResume)
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

// shown returns the path as it is shown: from the working folder, if it is below that.
func shown(path string) string {
	if folder, err := os.Getwd(); err == nil {
		if below, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(below) {
			return below
		}
	}
	return path
}
