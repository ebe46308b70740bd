// Package rowproof proves to a stranger what is recorded of one row: a small file that leads from the row through the seals of its chunk and its run
// to the signed log. docs/proof.md describes it.
package rowproof
