package main

import (
	"os"
	"strings"

	"waymark/evidence"
	"waymark/evidence/bundle"
)

// isBundle reports whether a word names a bundle and not a run.
func isBundle(word string) bool { return strings.HasSuffix(word, ".zip") }

// verifyBundle verifies a file without the record.
func (a *app) verifyBundle(path, policy string) error {
	key := ""
	if policy != "" {
		text, err := os.ReadFile(policy)
		if err == nil {
			key, err = evidence.TrustedKey(string(text))
		}
		if err != nil {
			return wrongUsef("--policy %s: %w", policy, err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return wrongUse(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	report, err := bundle.Verify(file, info.Size(), key)
	if err != nil {
		return err
	}
	code := exitDone
	if report.Problem != "" {
		code = exitUnverified
	}
	return endWith(code, a.print(report, report.WriteText))
}
