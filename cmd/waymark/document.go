package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/client"
)

// compile reads a document and compiles it. Problems of the document are wrong use, all of them at once.
func (a *app) compile(file string, params []string, slot client.SlotOf) (*client.Document, error) {
	given, err := parsePairs("--param", "NAME=VALUE", params)
	if err != nil {
		return nil, err
	}
	return a.compileWith(file, given, slot)
}

func (a *app) compileWith(file string, params map[string]string, slot client.SlotOf) (*client.Document, error) {
	planner, err := a.options().Planner(client.ToResume)
	if err != nil {
		return nil, err
	}
	return client.CompileFor(planner, file, params, slot)
}

// compileAny is compile for looking at a document that need not be about a slot: it tells which one is taken for all.
func (a *app) compileAny(file string, params []string, slot client.SlotOf) (*client.Document, error) {
	slot.Next = time.Now()
	doc, err := a.compile(file, params, slot)
	if doc != nil && doc.Slot != "" && slot.For == "" {
		a.note("this is for slot %s: --for names another one", doc.Slot)
	}
	return doc, err
}

// slotFlags define which slot a document is about.
func slotFlags(cmd *cobra.Command, slot *client.SlotOf) {
	cmd.Flags().StringVar(&slot.For, "for", "", "`slot` that the run covers, such as 2026-11-21; parameters that depend on the slot get their values from it")
	cmd.Flags().StringVar(&slot.Schedule, "schedule", "", "with --for: `name` of the schedule whose slot it is, if the document has several")
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
