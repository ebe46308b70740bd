package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// succeeds matches a line of a script whose command does what it is asked for, and a command of a page.
var succeeds = regexp.MustCompile(`(?m)^(?:\[\S+\] )?` +
	`(?:exec (?:sh -c '(?:exec )?)?|exits [0134]\S* |signal \S+ \S+ |\$ )?waymark (.+)$`)

// triedElsewhere are commands that do what they are asked for only with a server, a database or a program that can be
// told to die, and who executes them.
var triedElsewhere = map[string]string{
	"waymark landscape grant": "TestRecordInPostgres",
	"waymark resolve":         "tests/crash, whose program can be told to die",
	"waymark schedule retry":  "a server, which begins the run of a slot: tests/cli/slots.txtar at night",
	"waymark triggers again":  "tests/serve",
	"waymark triggers ignore": "tests/serve",
	"waymark triggers test":   "tests/serve",
}

// TestEveryCommandIsTried requires that each command succeeds once in what `go test` executes: in a script, as far as
// it goes by day, or on a page whose commands a test executes.
func TestEveryCommandIsTried(t *testing.T) {
	root, tried := new(app).rootCommand(), map[*cobra.Command]bool{}
	files, err := filepath.Glob(filepath.Join(scripts, "*.txtar"))
	require.NoError(t, err)
	for _, file := range append(files, "../../docs/schedules.md", "../../docs/deploying.md") {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		text, _, _ := strings.Cut(string(content), "\n-- ")
		text, _, _ = strings.Cut(text, "[!nightly] stop")
		text = strings.ReplaceAll(text, "\n[nightly] ", "\n# ")
		if strings.HasPrefix(text, "[!nightly] skip") || strings.HasPrefix(text, "[!failpoints]") {
			continue
		}
		for _, line := range succeeds.FindAllStringSubmatch(text, -1) {
			if command, _, err := root.Find(words(line[1])); err == nil { // cobra's own commands are not there yet
				tried[command] = true
			}
		}
	}
	var missing []string
	each(root, func(command *cobra.Command) {
		path := command.CommandPath()
		if _, elsewhere := triedElsewhere[path]; elsewhere == tried[command] && command.Runnable() && !helps(command) {
			missing = append(missing, path)
		}
	})
	require.Empty(t, missing, "write a script for each, or end one later (by day it stops at [!nightly] stop), "+
		"or take it from triedElsewhere")
}

// each calls do with every command below one.
func each(command *cobra.Command, do func(*cobra.Command)) {
	do(command)
	for _, below := range command.Commands() {
		each(below, do)
	}
}
