package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// verdict is what became of a mutant.
type verdict string

const (
	killed       verdict = "killed"
	survived     verdict = "SURVIVED"
	gone         verdict = "GONE"           // the text to change is not there exactly once
	uncompilable verdict = "DOES NOT BUILD" // so that no test could notice it
	untested     verdict = "NO SOUND TEST"  // the test is not there, or fails without the mutant
	late         verdict = "TOO SLOW"       // the test did not end in time: the mutant makes it hang, or the machine is busy
)

// most is how long a test may take.
const most = 10 * time.Minute

// judge tries the mutant. detail says more if it is not killed.
func (m mutant) judge(ctx context.Context, folder string) (v verdict, detail string) {
	if out, err := m.test(ctx, ""); err != nil || strings.Contains(out, "no tests to run") {
		return untested, out
	}
	changed, err := m.change(".")
	if err != nil {
		return gone, err.Error()
	}
	overlay, err := m.overlay(folder, changed)
	if err != nil {
		return untested, err.Error()
	}
	out, err := m.test(ctx, overlay)
	switch {
	case err == nil:
		return survived, m.never
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return uncompilable, out
	case strings.Contains(out, "panic: test timed out"):
		return late, out
	case !strings.Contains(out, "--- FAIL") && !strings.Contains(out, "panic: "):
		return untested, out
	}
	return killed, ""
}

// change returns the mutant's file, below the folder of the module, with the change.
func (m mutant) change(root string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(content, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s has this text %d times, not once: %s", m.file, n, m.old)
	}
	return bytes.Replace(content, []byte(m.old), []byte(m.new), 1), nil
}

// overlay writes what tells the go command to take the changed file for the mutant's, and returns its path.
func (m mutant) overlay(folder string, changed []byte) (string, error) {
	replaced, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	replacement, overlay := filepath.Join(folder, "mutant.go"), filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {replaced: replacement}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(replacement, changed, 0o600); err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// everyCase is the flag of tests that leave out a part by day: with it they leave out nothing.
const everyCase = "-every=1"

// flagsOf returns the flags of the mutant's test: those of the tier. root is the folder of the module.
func (m mutant) flagsOf(root string) ([]string, error) {
	if m.tier == day {
		return m.flags, nil
	}
	files, err := filepath.Glob(filepath.Join(root, m.pkg, "*_test.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(text, []byte(`"waymark/tests/sample"`)) {
			return append(slices.Clip(m.flags), everyCase), nil
		}
	}
	return m.flags, nil
}

// test runs the mutant's test, with the overlay if there is one, and returns what it printed. What the test builds is
// built with the overlay as well. The error says that it failed.
func (m mutant) test(ctx context.Context, overlay string) (string, error) {
	args := []string{"test", "-vet=off", "-ldflags=-w", "-timeout=" + most.String(), "-run", m.run}
	if overlay != "" {
		args = append(args, "-failfast", "-count=1") // what the test builds is not part of what its result is remembered for
	}
	flags, err := m.flagsOf(".")
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, "go", slices.Concat(args, []string{m.pkg}, flags)...)
	if overlay != "" {
		usual, err := exec.CommandContext(ctx, "go", "env", "GOFLAGS").Output()
		if err != nil {
			return "", err
		}
		command.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(string(usual))+" -overlay="+overlay)
	}
	out, err := command.CombinedOutput()
	return string(out), err
}
