// Package bundle puts what is recorded of a run into one file, signed, and verifies such files without the record. docs/bundle.md describes
// every byte of them.
package bundle
