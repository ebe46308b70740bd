package main

import (
	"errors"
	"io"
	"os"
	"strings"

	"waymark/audit/evidence/bundle"
	"waymark/audit/evidence/rowproof"
	"waymark/audit/evidence/trust"
	"waymark/landscape/persons"
)

// fileKind is what of a run a word names that waymark verify reads without a landscape; empty for a run.
type fileKind string

const (
	bundleFile fileKind = "bundle"
	proofFile  fileKind = "proof"
)

// kindOf tells what a word names by what the file with this name begins with, or else by how the name ends: a file keeps what it is whatever it is called.
func kindOf(word string) fileKind {
	begin := beginOf(word, len(bundle.Begin)+len(rowproof.Begin))
	switch {
	case strings.HasPrefix(begin, bundle.Begin):
		return bundleFile
	case strings.HasPrefix(begin, rowproof.Begin):
		return proofFile
	case strings.HasSuffix(word, ".zip"):
		return bundleFile
	case strings.HasSuffix(word, ".proof"):
		return proofFile
	}
	return ""
}

// beginOf returns the first bytes of a file, at most so many; nothing if there is none.
func beginOf(path string, bytes int) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	begin := make([]byte, bytes)
	n, _ := io.ReadFull(file, begin) // a shorter file is neither
	return string(begin[:n])
}

// trustPolicy reads the trust policy in a file; nil if no file is named.
func trustPolicy(file string) (*trust.Policy, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // without one the word of the bundle or proof is taken
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, wrongUsef("--policy %s: %w", file, err)
	}
	policy, err := trust.Parse(string(text))
	if err == nil && policy.Logs == nil {
		err = errors.New("it names no log: write the line `log` that waymark keys policy prints")
	}
	if err != nil {
		return nil, wrongUsef("--policy %s: %w", file, err)
	}
	return policy, nil
}

// verifyBundle verifies a file without the record.
func (a *app) verifyBundle(path, policyFile string) error {
	policy, err := trustPolicy(policyFile)
	if err != nil {
		return err
	}
	var approvers *persons.Approvers // nil: the lines that are recorded are taken
	if a.approvers != "" {
		if approvers, err = persons.ReadApprovers(a.approvers); err != nil {
			return wrongUsef("--approvers: %w", err)
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
	report, err := bundle.Verify(file, info.Size(), policy, approvers)
	if err != nil {
		return err
	}
	code := exitDone
	if report.Problem != "" {
		code = exitUnverified
	}
	return endWith(code, a.print(report, report.WriteText))
}
