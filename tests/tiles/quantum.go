package main

import (
	"fmt"
	"os"
	"strings"

	formats "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

// checkQuantum verifies the signature of a log's key of ML-DSA-44 under a head.
func checkQuantum(key, head string) error {
	text, err := os.ReadFile(head)
	if err != nil {
		return err
	}
	by, err := formats.NewVerifierForCosignatureV1(key)
	if err == nil {
		_, err = note.Open(text, note.VerifierList(by))
	}
	return err
}

// signQuantum prints a head with one more signature, by the key of ML-DSA-44 in a file.
func signQuantum(file, head string) error {
	text, err := os.ReadFile(head)
	if err != nil {
		return err
	}
	secret, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	by, err := formats.NewSignerForCosignatureV1(strings.TrimSpace(string(secret)))
	if err != nil {
		return err
	}
	body, _, _ := strings.Cut(string(text), "\n\n")
	signed, err := note.Sign(&note.Note{Text: body + "\n"}, by)
	if err != nil {
		return err
	}
	fmt.Print(string(text) + strings.TrimPrefix(string(signed), body+"\n\n"))
	return nil
}
