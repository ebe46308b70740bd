package main

import (
	"os"
	"strings"

	"waymark/audit/evidence"
	"waymark/audit/evidence/bundle"
)

// isBundle reports whether a word names a bundle and not a run.
func isBundle(word string) bool { return strings.HasSuffix(word, ".zip") }

// isProof reports whether a word names a proof of a row.
func isProof(word string) bool { return strings.HasSuffix(word, ".proof") }

// trustedKey returns the public key of the log that the trust policy in a file names; empty if no file is named.
func trustedKey(policy string) (string, error) {
	if policy == "" {
		return "", nil
	}
	text, err := os.ReadFile(policy)
	if err != nil {
		return "", wrongUsef("--policy %s: %w", policy, err)
	}
	key, err := evidence.TrustedKey(string(text))
	if err != nil {
		return "", wrongUsef("--policy %s: %w", policy, err)
	}
	return key, nil
}

// verifyBundle verifies a file without the record.
func (a *app) verifyBundle(path, policy string) error {
	key, err := trustedKey(policy)
	if err != nil {
		return err
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
